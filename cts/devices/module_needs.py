"""The needs that a module declares: capabilities, extensions, local size, memory, cooperative types, multiplies and accumulations.

A value that specialization can change is stored as the id of its constant, and evaluated with a kernel's values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from generators.errors import GeneratorError, Rule
from generators.spirv.enumerants import Op
from generators.spirv.grammar import GRAMMAR


class Scalar(NamedTuple):
    """OpTypeInt (``signed`` 0 or 1) or OpTypeFloat (``signed`` None); ``encoding`` is a float's FP Encoding."""

    width: int
    signed: int | None
    encoding: int | None = None


class Composite(NamedTuple):
    """A type made of other types. ``members`` are type ids. ``length`` is a literal or, if ``length_is_id``, a constant's id."""

    op: Op
    members: tuple[int, ...]
    length: int = 1
    length_is_id: bool = False


class MatrixTypeIds(NamedTuple):
    """Operands of OpTypeCooperativeMatrixKHR: a type id and four constants' ids."""

    component: int
    scope: int
    rows: int
    columns: int
    use: int


class MulAddIds(NamedTuple):
    """OpCooperativeMatrixMulAddKHR by the ids of its types."""

    result: int
    a: int
    b: int
    c: int
    operands: int


class VectorTypeIds(NamedTuple):
    """Operands of OpTypeCooperativeVectorNV: a type id and a constant's id."""

    component: int
    length: int


class VectorMulIds(NamedTuple):
    """OpCooperativeVectorMatrixMulNV or OpCooperativeVectorMatrixMulAddNV: ids of the vector types, ids of constants, and the mask.

    ``bias`` is None for a multiply without bias."""

    result: int
    input: int
    input_interpretation: int
    matrix_interpretation: int
    bias_interpretation: int | None
    transpose: int
    operands: int


class OuterProductIds(NamedTuple):
    """OpCooperativeVectorOuterProductAccumulateNV: the id of its MatrixInterpretation."""

    interpretation: int


class ReduceSumIds(NamedTuple):
    """OpCooperativeVectorReduceSumAccumulateNV: the id of the vector's type."""

    vector: int


class Default(NamedTuple):
    """OpSpecConstant: its SpecId, if any, and its default."""

    spec_id: int | None
    value: int


class Expression(NamedTuple):
    """OpSpecConstantOp."""

    op: int
    operands: tuple[int, ...]
    width: int


class SubArrayIds(NamedTuple):
    """OpExtractSubArrayQCOM: the ids of the types of its source and its result."""

    source: int
    result: int


Constant = int | Default | Expression


def _signed(value: int, width: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def _divided(value: int, by: int, width: int) -> int:
    """Divide signed integers, rounding towards zero."""
    one, other = _signed(value, width), _signed(by, width)
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient


_DIVISIONS = frozenset({Op.UDiv, Op.UMod, Op.SDiv})
_EXPRESSIONS: Mapping[int, Callable[[list[int], int], int]] = MappingProxyType(
    {
        Op.IAdd: lambda v, _: v[0] + v[1],
        Op.ISub: lambda v, _: v[0] - v[1],
        Op.IMul: lambda v, _: v[0] * v[1],
        Op.UDiv: lambda v, _: v[0] // v[1],
        Op.UMod: lambda v, _: v[0] % v[1],
        Op.SDiv: lambda v, w: _divided(v[0], v[1], w),
        Op.ShiftLeftLogical: lambda v, w: v[0] << min(v[1], w),
        Op.ShiftRightLogical: lambda v, w: v[0] >> min(v[1], w),
        Op.BitwiseAnd: lambda v, _: v[0] & v[1],
        Op.BitwiseOr: lambda v, _: v[0] | v[1],
        Op.BitwiseXor: lambda v, _: v[0] ^ v[1],
        Op.SNegate: lambda v, _: -v[0],
        Op.Not: lambda v, _: ~v[0],
        Op.UConvert: lambda v, _: v[0],
        Op.SConvert: lambda v, _: v[0],
        Op.Bitcast: lambda v, _: v[0],
        Op.Select: lambda v, _: v[1] if v[0] else v[2],
        Op.INotEqual: lambda v, _: int(v[0] != v[1]),
        Op.IEqual: lambda v, _: int(v[0] == v[1]),
        Op.ULessThan: lambda v, _: int(v[0] < v[1]),
        Op.UGreaterThan: lambda v, _: int(v[0] > v[1]),
    }
)


def _evaluated(expression: Expression, operands: list[int]) -> int:
    if len(operands) != _OPERANDS[expression.op]:
        raise GeneratorError(Rule.OPERAND_COUNT, f"OpSpecConstantOp {expression.op} has {len(operands)} operands")
    if expression.op in _DIVISIONS and not operands[1]:
        raise GeneratorError(Rule.DIVISION_BY_ZERO, f"OpSpecConstantOp {expression.op} divides by zero")
    return _EXPRESSIONS[expression.op](operands, expression.width) & ((1 << expression.width) - 1)


_OPERANDS = {int(op): sum(operand.kind == "id" for operand in GRAMMAR.instructions[op].operands) for op in _EXPRESSIONS}
"""Opcode -> the number of operands of an expression."""

_MAX_DEPTH = 255
"""The nesting depth of types (SPIR-V 2.17, Universal Limits)."""


@dataclass(frozen=True)
class ModuleNeeds:
    """The needs that a module declares.

    Attributes:
        version: SPIR-V version, (major, minor).
        capabilities, extensions: as declared, in order.
        float_modes: (execution mode, width) of each mode that changes float arithmetic.
        local_size: the entry point's local size: three literals, or three constants' ids if ``local_size_ids``; None if there is none.
        local_size_mode: whether the entry point has the execution mode LocalSizeId.
        matrices: type id -> OpTypeCooperativeMatrixKHR.
        muladds: the distinct multiply-adds.
        vectors: type id -> OpTypeCooperativeVectorNV.
        multiplies: the distinct matrix-vector multiplies.
        accumulations: the distinct training instructions.
        sub_arrays: the distinct pairs of types of OpExtractSubArrayQCOM.
        scalars, composites: type id -> type, for the types needed to size memory and to name components.
        workgroup: the entry point's variables in workgroup memory: type id, and whether a block may share memory with other blocks.
        blocks: type ids that are decorated as Block.
        constants: id -> the constant.
        offsets: (type id of a structure, number of a member) -> its stated offset in bytes.
    """

    version: tuple[int, int]
    capabilities: tuple[int, ...]
    extensions: tuple[str, ...]
    float_modes: tuple[tuple[int, int], ...]
    local_size: tuple[int, int, int] | None
    local_size_ids: bool
    local_size_mode: bool
    matrices: dict[int, MatrixTypeIds]
    muladds: tuple[MulAddIds, ...]
    vectors: dict[int, VectorTypeIds]
    multiplies: tuple[VectorMulIds, ...]
    accumulations: tuple[OuterProductIds | ReduceSumIds, ...]
    sub_arrays: tuple[SubArrayIds, ...]
    scalars: dict[int, Scalar]
    composites: dict[int, Composite]
    workgroup: tuple[tuple[int, bool], ...]
    blocks: frozenset[int]
    constants: dict[int, Constant] = field(repr=False)
    offsets: dict[tuple[int, int], int] = field(default_factory=dict, repr=False)

    def value(self, constant: int, specialization: Mapping[int, int]) -> int:
        """Return the value of the constant with an id. ``specialization`` maps SpecIds to values.

        Raises:
            GeneratorError: the id is not a constant, or an expression that the suite cannot evaluate.
        """
        known = self.constants.get(constant)
        if not isinstance(known, Expression):
            return self._number(constant, known, specialization)
        # Not recursive: a module may have a chain of expressions of any length.
        values: dict[int, int] = {}
        stack, opened = [constant], set()
        while stack:
            id_ = stack[-1]
            known = self.constants.get(id_)
            if not isinstance(known, Expression):
                values[id_] = self._number(id_, known, specialization)
            elif known.op not in _EXPRESSIONS:
                raise GeneratorError(
                    Rule.SPECIALIZATION, f"OpSpecConstantOp {known.op} is not evaluated yet; add it to cts.devices.module_needs"
                )
            elif waiting := [operand for operand in known.operands if operand not in values]:
                if id_ in opened:
                    raise GeneratorError(Rule.MODULE, f"the constant {id_} is computed from itself")
                opened.add(id_)
                stack += waiting
                continue
            elif id_ not in values:
                values[id_] = _evaluated(known, [values[operand] for operand in known.operands])
            stack.pop()
        return values[constant]

    @staticmethod
    def _number(id_: int, known: Constant | None, specialization: Mapping[int, int]) -> int:
        if isinstance(known, int):
            return known
        if isinstance(known, Default):
            return known.value if known.spec_id is None else specialization.get(known.spec_id, known.value)
        raise GeneratorError(Rule.MODULE, f"id {id_} is used as a scalar constant, but is not one")

    def workgroup_bytes(self, specialization: Mapping[int, int]) -> int:
        """Return an upper bound of the workgroup memory in bytes.

        Variables follow each other at the alignments of Vulkan's standard storage buffer layout. Aliased blocks share one address."""
        end = shared = 0
        known: dict[int, tuple[int, int]] = {}
        for type_id, is_aliased in self.workgroup:
            size, alignment = self._layout(type_id, specialization, known)
            if type_id in self.blocks and is_aliased:
                shared = max(shared, size)
            else:
                end = -(-end // alignment) * alignment + size
        return end + shared

    def _layout(
        self, type_id: int, specialization: Mapping[int, int], known: dict[int, tuple[int, int]], depth: int = 0
    ) -> tuple[int, int]:
        """Return the size and alignment of a type, in bytes.

        Raises:
            GeneratorError: the type is nested too deeply, or contains itself.
        """
        if type_id in known:
            return known[type_id]
        if depth > _MAX_DEPTH:
            raise GeneratorError(Rule.MODULE, f"the type {type_id} is nested in more than {_MAX_DEPTH} others")
        scalar = self.scalars.get(type_id)
        composite = self.composites.get(type_id)
        if scalar is not None:
            found = max(scalar.width // 8, 1), max(scalar.width // 8, 1)
        elif composite is None:
            # A pointer to physical storage, or a boolean: no other scalar in workgroup memory is wider.
            found = 8, 8
        elif composite.op == Op.TypeStruct:
            end, alignment = 0, 1
            for i, member in enumerate(composite.members):
                size, needed = self._layout(member, specialization, known, depth + 1)
                end = self.offsets.get((type_id, i), -(-end // needed) * needed) + size
                alignment = max(alignment, needed)
            found = -(-end // alignment) * alignment, alignment
        else:
            size, alignment = self._layout(composite.members[0], specialization, known, depth + 1)
            length = self.value(composite.length, specialization) if composite.length_is_id else composite.length
            if composite.op == Op.TypeVector:
                found = size * length, size * (2 if length == 2 else 4)
            else:
                found = -(-size // alignment) * alignment * length, alignment
        known[type_id] = found
        return found
