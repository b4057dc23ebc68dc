"""What a module says of itself: capabilities, extensions, local size, memory, cooperative types and multiply-adds.

Everything that specialization can change is kept as a constant's id and resolved for a kernel's values.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from generators.errors import GeneratorError
from generators.spirv.enumerants import OPERANDS, Decoration, ExecutionMode, Op, StorageClass
from generators.spirv.reader import HEADER_WORDS, read_header, read_string


class Scalar(NamedTuple):
    """OpTypeInt (``signed`` 0 or 1) or OpTypeFloat (``signed`` None); ``encoding`` is a float's FP Encoding."""

    width: int
    signed: int | None
    encoding: int | None = None


class Composite(NamedTuple):
    """A type made of other types: ``members`` are type ids; ``length`` a literal or, if ``length_is_id``, a constant's id."""

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


class Default(NamedTuple):
    """OpSpecConstant: its SpecId (None without one) and default."""

    spec_id: int | None
    value: int


class Expression(NamedTuple):
    """OpSpecConstantOp."""

    op: int
    operands: tuple[int, ...]
    width: int


Constant = int | Default | Expression


def _signed(value: int, width: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


_EXPRESSIONS: Mapping[int, Callable[[list[int], int], int]] = MappingProxyType(
    {
        Op.IAdd: lambda v, _: v[0] + v[1],
        Op.ISub: lambda v, _: v[0] - v[1],
        Op.IMul: lambda v, _: v[0] * v[1],
        Op.UDiv: lambda v, _: v[0] // v[1],
        Op.UMod: lambda v, _: v[0] % v[1],
        Op.SDiv: lambda v, w: int(_signed(v[0], w) / _signed(v[1], w)),
        Op.ShiftLeftLogical: lambda v, _: v[0] << v[1],
        Op.ShiftRightLogical: lambda v, _: v[0] >> v[1],
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


@dataclass(frozen=True)
class ModuleNeeds:
    """What a module says of itself.

    Attributes:
        version: of SPIR-V, (major, minor).
        capabilities, extensions: as declared, in order.
        float_modes: (execution mode, width) of the modes that change float arithmetic.
        local_size: of the entry point: three literals, or three constants' ids if ``local_size_ids``; None if there is none.
        local_size_mode: whether the execution mode LocalSizeId says it.
        matrices: type id -> OpTypeCooperativeMatrixKHR.
        muladds: every multiply-add, without repetition.
        scalars, composites: type id -> type, as far as it is needed to size memory and to name components.
        workgroup: type ids of the variables in workgroup memory.
        blocks: type ids that are decorated as Block.
        constants: id -> what it stands for.
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
    scalars: dict[int, Scalar]
    composites: dict[int, Composite]
    workgroup: tuple[int, ...]
    blocks: frozenset[int]
    constants: dict[int, Constant] = field(repr=False)

    def value(self, constant: int, specialization: Mapping[int, int]) -> int:
        """The value of a constant's id, where ``specialization`` gives the values of SpecIds.

        Raises:
            GeneratorError: it is none, or an expression that the suite does not evaluate.
        """
        known = self.constants.get(constant)
        if isinstance(known, int):
            return known
        if isinstance(known, Default):
            return known.value if known.spec_id is None else specialization.get(known.spec_id, known.value)
        if known is None:
            raise GeneratorError(f"id {constant} is used where a module needs a scalar constant, and it is none")
        evaluate = _EXPRESSIONS.get(known.op)
        if evaluate is None:
            raise GeneratorError(f"OpSpecConstantOp {known.op} is not evaluated yet; add it to cts.devices.module_needs")
        result = evaluate([self.value(operand, specialization) for operand in known.operands], known.width)
        return result & ((1 << known.width) - 1)

    def workgroup_bytes(self, specialization: Mapping[int, int]) -> int:
        """An upper bound of the workgroup memory in bytes: variables one after the other at the offsets of Vulkan's standard
        storage buffer layout; explicitly laid out blocks share their place."""
        end = shared = 0
        for type_id in self.workgroup:
            size, alignment = self._layout(type_id, specialization)
            if type_id in self.blocks:
                shared = max(shared, size)
            else:
                end = -(-end // alignment) * alignment + size
        return end + shared

    def _layout(self, type_id: int, specialization: Mapping[int, int]) -> tuple[int, int]:
        """Size and alignment in bytes."""
        scalar = self.scalars.get(type_id)
        if scalar is not None:
            return scalar.width // 8, scalar.width // 8
        composite = self.composites.get(type_id)
        if composite is None:
            # A pointer into physical storage, or a boolean: nothing in workgroup memory is wider.
            return 8, 8
        if composite.op == Op.TypeStruct:
            end, alignment = 0, 1
            for member in composite.members:
                size, needed = self._layout(member, specialization)
                end = -(-end // needed) * needed + size
                alignment = max(alignment, needed)
            return -(-end // alignment) * alignment, alignment
        size, alignment = self._layout(composite.members[0], specialization)
        length = self.value(composite.length, specialization) if composite.length_is_id else composite.length
        if composite.op == Op.TypeVector:
            return size * length, size * (2 if length == 2 else 4)
        stride = -(-size // alignment) * alignment
        return stride * length, alignment


_TYPED = frozenset(int(op) for op, pattern in OPERANDS.items() if pattern.startswith("T R"))
_FLOAT_MODES = (
    ExecutionMode.DenormPreserve,
    ExecutionMode.DenormFlushToZero,
    ExecutionMode.SignedZeroInfNanPreserve,
    ExecutionMode.RoundingModeRTE,
    ExecutionMode.RoundingModeRTZ,
)
_BUILTIN_WORKGROUP_SIZE = 25
_SCALAR_CONSTANTS = (Op.Constant, Op.SpecConstant)


@lru_cache(maxsize=512)
def read_needs(module: bytes) -> ModuleNeeds:
    """Reads what ``module`` says of itself. Instructions that say nothing of it are passed over.

    Raises:
        GeneratorError: it is no SPIR-V module, or an instruction runs past its end.
    """
    header = read_header(module)
    words = struct.unpack(f"<{len(module) // 4}I", module)
    end = len(words)
    position = HEADER_WORDS

    capabilities: list[int] = []
    extensions: list[str] = []
    float_modes: list[tuple[int, int]] = []
    local_size: tuple[int, int, int] | None = None
    local_size_ids = False
    local_size_mode = False
    workgroup_size_id: int | None = None
    matrices: dict[int, MatrixTypeIds] = {}
    muladds: dict[MulAddIds, None] = {}
    scalars: dict[int, Scalar] = {}
    composites: dict[int, Composite] = {}
    pointers: dict[int, int] = {}
    workgroup: list[int] = []
    blocks: set[int] = set()
    constants: dict[int, Constant] = {}
    vectors_of_constants: dict[int, tuple[int, ...]] = {}
    spec_ids: dict[int, int] = {}
    matrix_of: dict[int, int] = {}

    while position < end:
        count, op = words[position] >> 16, words[position] & 0xFFFF
        if count == 0 or position + count > end:
            raise GeneratorError(f"SPIR-V word {position}: an instruction of {count} words does not fit")
        operands = words[position + 1 : position + count]
        position += count
        if op in _TYPED and operands[0] in matrices:
            matrix_of[operands[1]] = operands[0]
            if op == Op.CooperativeMatrixMulAddKHR:
                try:
                    a, b, c = (matrix_of[operand] for operand in operands[2:5])
                except KeyError as unknown:
                    raise GeneratorError(f"id {unknown} is an operand of a multiply-add, and it is no cooperative matrix") from None
                muladds[MulAddIds(operands[0], a, b, c, operands[5] if len(operands) > 5 else 0)] = None
        elif op == Op.Capability:
            capabilities.append(operands[0])
        elif op == Op.Extension:
            extensions.append(read_string(operands)[0])
        elif op == Op.ExecutionMode:
            if operands[1] == ExecutionMode.LocalSize:
                local_size = operands[2], operands[3], operands[4]
            elif operands[1] in _FLOAT_MODES:
                float_modes.append((operands[1], operands[2]))
        elif op == Op.ExecutionModeId:
            if operands[1] == ExecutionMode.LocalSizeId:
                local_size, local_size_ids, local_size_mode = (operands[2], operands[3], operands[4]), True, True
        elif op == Op.Decorate:
            if operands[1] == Decoration.SpecId:
                spec_ids[operands[0]] = operands[2]
            elif operands[1] == Decoration.Block:
                blocks.add(operands[0])
            elif operands[1] == Decoration.BuiltIn and operands[2] == _BUILTIN_WORKGROUP_SIZE:
                workgroup_size_id = operands[0]
        elif op == Op.TypeInt:
            scalars[operands[0]] = Scalar(operands[1], operands[2])
        elif op == Op.TypeFloat:
            scalars[operands[0]] = Scalar(operands[1], None, operands[2] if len(operands) > 2 else None)
        elif op in (Op.TypeVector, Op.TypeMatrix):
            composites[operands[0]] = Composite(Op(op), operands[1:2], operands[2])
        elif op == Op.TypeArray:
            composites[operands[0]] = Composite(Op.TypeArray, operands[1:2], operands[2], True)
        elif op == Op.TypeStruct:
            composites[operands[0]] = Composite(Op.TypeStruct, operands[1:])
        elif op == Op.TypePointer:
            pointers[operands[0]] = operands[2]
        elif op == Op.TypeCooperativeMatrixKHR:
            matrices[operands[0]] = MatrixTypeIds(*operands[1:6])
        elif op in _SCALAR_CONSTANTS:
            value = operands[2] | (operands[3] << 32 if len(operands) > 3 else 0)
            constants[operands[1]] = value if op == Op.Constant else Default(spec_ids.get(operands[1]), value)
        elif op in (Op.ConstantTrue, Op.ConstantFalse):
            constants[operands[1]] = int(op == Op.ConstantTrue)
        elif op in (Op.SpecConstantTrue, Op.SpecConstantFalse):
            constants[operands[1]] = Default(spec_ids.get(operands[1]), int(op == Op.SpecConstantTrue))
        elif op == Op.ConstantNull:
            constants[operands[1]] = 0
        elif op == Op.SpecConstantOp:
            scalar = scalars.get(operands[0])
            constants[operands[1]] = Expression(operands[2], operands[3:], scalar.width if scalar else 32)
        elif op in (Op.ConstantComposite, Op.SpecConstantComposite):
            vectors_of_constants[operands[1]] = operands[2:]
        elif op == Op.Variable and operands[2] == StorageClass.Workgroup:
            workgroup.append(pointers[operands[0]])

    if workgroup_size_id in vectors_of_constants:
        # The decorated constant takes precedence over the execution mode.
        x, y, z = vectors_of_constants[workgroup_size_id]
        local_size, local_size_ids = (x, y, z), True
    return ModuleNeeds(
        header.version,
        tuple(capabilities),
        tuple(extensions),
        tuple(float_modes),
        local_size,
        local_size_ids,
        local_size_mode,
        matrices,
        tuple(muladds),
        scalars,
        composites,
        tuple(workgroup),
        frozenset(blocks),
        constants,
    )
