"""Reads the needs that a module declares, instruction by instruction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from cts.devices.module_needs import (
    Composite,
    Constant,
    Default,
    Expression,
    MatrixTypeIds,
    ModuleNeeds,
    MulAddIds,
    OuterProductIds,
    ReduceSumIds,
    Scalar,
    SubArrayIds,
    VectorMulIds,
    VectorTypeIds,
)
from generators.spirv.enumerants import BuiltIn, Capability, Decoration, ExecutionMode, Op, StorageClass
from generators.spirv.grammar import GRAMMAR
from generators.spirv.reader import NotSpirv, read_header, read_string, read_words

_TYPED = frozenset(opcode for opcode, instruction in GRAMMAR.instructions.items() if instruction.is_typed)
_LEAST = {opcode: sum(not operand.quantifier for operand in instruction.operands) for opcode, instruction in GRAMMAR.instructions.items()}
"""Opcode -> the minimum number of operands."""

_MAX_BITS = 64
_FLOAT_MODES = (
    ExecutionMode.DenormPreserve,
    ExecutionMode.DenormFlushToZero,
    ExecutionMode.SignedZeroInfNanPreserve,
    ExecutionMode.RoundingModeRTE,
    ExecutionMode.RoundingModeRTZ,
)
_Operands = tuple[int, ...]


class _Wrong(Exception):
    """An instruction is invalid. The message says why; the caller adds where."""


@dataclass
class _Found:
    """The part of a module that has been read so far. Attributes that ModuleNeeds has too have the same meaning here.

    Attributes:
        workgroup_size: id of the constant that is decorated with BuiltIn WorkgroupSize.
        matrix_of: id of a cooperative matrix -> its type's id.
        vector_of: id of a cooperative vector -> its type's id.
        composite_of: id of an array, struct or vector -> its type's id.
        pointers: type id of a pointer -> type id of its pointee.
        entry_point: name of the entry point.
        entry: id of its function; None before it is found.
        interface: ids of its variables.
        other_interfaces: ids of the other entry points' variables.
        shared: workgroup variables: id, and type id of the contents.
        aliased: ids that are decorated as Aliased.
        vectors_of_constants: id of a composite constant -> the ids of its constituents.
        spec_ids: id of a constant -> its SpecId.
    """

    capabilities: list[int] = field(default_factory=list)
    extensions: list[str] = field(default_factory=list)
    float_modes: list[tuple[int, int]] = field(default_factory=list)
    local_size: tuple[int, int, int] | None = None
    local_size_ids: bool = False
    local_size_mode: bool = False
    matrices: dict[int, MatrixTypeIds] = field(default_factory=dict)
    muladds: dict[MulAddIds, None] = field(default_factory=dict)
    vectors: dict[int, VectorTypeIds] = field(default_factory=dict)
    multiplies: dict[VectorMulIds, None] = field(default_factory=dict)
    accumulations: dict[OuterProductIds | ReduceSumIds, None] = field(default_factory=dict)
    sub_arrays: dict[SubArrayIds, None] = field(default_factory=dict)
    scalars: dict[int, Scalar] = field(default_factory=dict)
    composites: dict[int, Composite] = field(default_factory=dict)
    entry_point: str = "main"
    entry: int | None = None
    interface: frozenset[int] = frozenset()
    other_interfaces: set[int] = field(default_factory=set)
    shared: list[tuple[int, int]] = field(default_factory=list)
    aliased: set[int] = field(default_factory=set)
    offsets: dict[tuple[int, int], int] = field(default_factory=dict)

    def uses(self, variable: int) -> bool:
        """Return whether the entry point may use a variable: it is in its interface, or in no interface."""
        return variable in self.interface or variable not in self.other_interfaces

    blocks: set[int] = field(default_factory=set)
    constants: dict[int, Constant] = field(default_factory=dict)
    workgroup_size: int | None = None
    matrix_of: dict[int, int] = field(default_factory=dict)
    vector_of: dict[int, int] = field(default_factory=dict)
    composite_of: dict[int, int] = field(default_factory=dict)
    pointers: dict[int, int] = field(default_factory=dict)
    vectors_of_constants: dict[int, _Operands] = field(default_factory=dict)
    spec_ids: dict[int, int] = field(default_factory=dict)


def _capability(found: _Found, _: int, operands: _Operands) -> None:
    found.capabilities.append(operands[0])


def _extension(found: _Found, _: int, operands: _Operands) -> None:
    found.extensions.append(read_string(operands)[0])


def _three(operands: _Operands) -> tuple[int, int, int]:
    if len(operands) != 3:
        raise _Wrong(f"a local size of {len(operands)} numbers instead of three")
    return operands[0], operands[1], operands[2]


def _one(operands: _Operands) -> int:
    if len(operands) != 1:
        raise _Wrong(f"{len(operands)} operands instead of one")
    return operands[0]


def _entry_point(found: _Found, _: int, operands: _Operands) -> None:
    name, length = read_string(operands[2:])
    if name == found.entry_point:
        found.entry, found.interface = operands[1], frozenset(operands[2 + length :])
    else:
        found.other_interfaces.update(operands[2 + length :])


def _execution_mode(found: _Found, _: int, operands: _Operands) -> None:
    if found.entry not in (None, operands[0]):
        return
    if operands[1] == ExecutionMode.LocalSize:
        found.local_size = _three(operands[2:])
    elif operands[1] in _FLOAT_MODES:
        found.float_modes.append((operands[1], _one(operands[2:])))


def _execution_mode_id(found: _Found, _: int, operands: _Operands) -> None:
    if found.entry not in (None, operands[0]):
        return
    if operands[1] == ExecutionMode.LocalSizeId:
        found.local_size = _three(operands[2:])
        found.local_size_ids = found.local_size_mode = True


def _decoration(found: _Found, _: int, operands: _Operands) -> None:
    if operands[1] == Decoration.SpecId:
        found.spec_ids[operands[0]] = _one(operands[2:])
    elif operands[1] == Decoration.Block:
        found.blocks.add(operands[0])
    elif operands[1] == Decoration.Aliased:
        found.aliased.add(operands[0])
    elif operands[1] == Decoration.BuiltIn and _one(operands[2:]) == BuiltIn.WorkgroupSize:
        found.workgroup_size = operands[0]


def _member_decoration(found: _Found, _: int, operands: _Operands) -> None:
    if operands[2] == Decoration.Offset:
        found.offsets[operands[0], operands[1]] = _one(operands[3:])


def _type(found: _Found, op: int, operands: _Operands) -> None:
    type_id, *parts = operands
    if op in (Op.TypeInt, Op.TypeFloat) and parts[0] > _MAX_BITS:
        raise _Wrong(f"numbers of {parts[0]} bits")
    match op:
        case Op.TypeInt:
            found.scalars[type_id] = Scalar(parts[0], parts[1])
        case Op.TypeFloat:
            found.scalars[type_id] = Scalar(parts[0], None, parts[1] if len(parts) > 1 else None)
        case Op.TypeVector | Op.TypeMatrix:
            found.composites[type_id] = Composite(Op(op), operands[1:2], operands[2])
        case Op.TypeArray:
            found.composites[type_id] = Composite(Op.TypeArray, operands[1:2], operands[2], True)
        case Op.TypeStruct:
            found.composites[type_id] = Composite(Op.TypeStruct, operands[1:])
        case Op.TypePointer:
            found.pointers[type_id] = operands[2]
        case Op.TypeCooperativeMatrixKHR:
            found.matrices[type_id] = MatrixTypeIds(*operands[1:6])
        case Op.TypeCooperativeVectorNV if Capability.CooperativeVectorNV in found.capabilities:
            found.vectors[type_id] = VectorTypeIds(operands[1], operands[2])


def _constant(found: _Found, op: int, operands: _Operands) -> None:
    type_id, id_, *parts = operands
    match op:
        case Op.Constant | Op.SpecConstant:
            value = parts[0] | (parts[1] << 32 if len(parts) > 1 else 0)
            found.constants[id_] = value if op == Op.Constant else Default(found.spec_ids.get(id_), value)
        case Op.ConstantTrue | Op.ConstantFalse:
            found.constants[id_] = int(op == Op.ConstantTrue)
        case Op.SpecConstantTrue | Op.SpecConstantFalse:
            found.constants[id_] = Default(found.spec_ids.get(id_), int(op == Op.SpecConstantTrue))
        case Op.ConstantNull:
            found.constants[id_] = 0
        case Op.SpecConstantOp:
            scalar = found.scalars.get(type_id)
            found.constants[id_] = Expression(operands[2], operands[3:], scalar.width if scalar else 32)
        case Op.ConstantComposite | Op.SpecConstantComposite:
            found.vectors_of_constants[id_] = operands[2:]


def _variable(found: _Found, _: int, operands: _Operands) -> None:
    if operands[2] == StorageClass.Workgroup:
        if operands[0] not in found.pointers:
            raise _Wrong(f"a variable of type %{operands[0]}, which is not a pointer type declared before it")
        found.shared.append((operands[1], found.pointers[operands[0]]))


def _untyped_variable(found: _Found, _: int, operands: _Operands) -> None:
    if operands[2] == StorageClass.Workgroup:
        if len(operands) < 4:
            raise _Wrong("a variable of workgroup memory without a Data Type")
        found.shared.append((operands[1], operands[3]))


def _matrix_value(found: _Found, op: int, operands: _Operands) -> None:
    found.matrix_of[operands[1]] = operands[0]
    if op == Op.CooperativeMatrixMulAddKHR:
        unknown = next((operand for operand in operands[2:5] if operand not in found.matrix_of), None)
        if unknown is not None:
            raise _Wrong(f"%{unknown} is an operand of a multiply-add, but is not a cooperative matrix")
        a, b, c = (found.matrix_of[operand] for operand in operands[2:5])
        found.muladds[MulAddIds(operands[0], a, b, c, operands[5] if len(operands) > 5 else 0)] = None


def _vector_value(found: _Found, op: int, operands: _Operands) -> None:
    found.vector_of[operands[1]] = operands[0]
    match op:
        case Op.CooperativeVectorMatrixMulNV:
            input_, interpretation, _, _, of_matrix, _, _, _, transpose, *rest = operands[2:]
            of_bias = None
        case Op.CooperativeVectorMatrixMulAddNV:
            input_, interpretation, _, _, of_matrix, _, _, of_bias, _, _, _, transpose, *rest = operands[2:]
        case _:
            return
    mask = rest[1] if len(rest) > 1 else 0
    found.multiplies[VectorMulIds(operands[0], _vector(found, input_), interpretation, of_matrix, of_bias, transpose, mask)] = None


def _vector(found: _Found, id_: int) -> int:
    """Return the type id of a cooperative vector."""
    if id_ not in found.vector_of:
        raise _Wrong(f"%{id_} is used as a cooperative vector, but is not one")
    return found.vector_of[id_]


def _accumulation(found: _Found, op: int, operands: _Operands) -> None:
    if op == Op.CooperativeVectorOuterProductAccumulateNV:
        found.accumulations[OuterProductIds(operands[5])] = None
    else:
        found.accumulations[ReduceSumIds(_vector(found, operands[2]))] = None


def _sub_array(found: _Found, _: int, operands: _Operands) -> None:
    result, source = operands[0], operands[2]
    types = SubArrayIds(_array_type(found, found.composite_of.get(source)), _array_type(found, result))
    found.sub_arrays[types] = None


def _array_type(found: _Found, type_id: int | None) -> int:
    """Return ``type_id`` if it is an array type; otherwise raise."""
    if type_id is None or type_id not in found.composites or found.composites[type_id].op != Op.TypeArray:
        raise _Wrong("the source or result of OpExtractSubArrayQCOM is not an array")
    return type_id


_READERS: Mapping[int, Callable[[_Found, int, _Operands], None]] = MappingProxyType(
    {
        Op.Capability: _capability,
        Op.Extension: _extension,
        Op.EntryPoint: _entry_point,
        Op.ExecutionMode: _execution_mode,
        Op.ExecutionModeId: _execution_mode_id,
        Op.Decorate: _decoration,
        Op.MemberDecorate: _member_decoration,
        Op.TypeInt: _type,
        Op.TypeFloat: _type,
        Op.TypeVector: _type,
        Op.TypeMatrix: _type,
        Op.TypeArray: _type,
        Op.TypeStruct: _type,
        Op.TypePointer: _type,
        Op.TypeCooperativeMatrixKHR: _type,
        Op.TypeCooperativeVectorNV: _type,
        Op.CooperativeVectorOuterProductAccumulateNV: _accumulation,
        Op.CooperativeVectorReduceSumAccumulateNV: _accumulation,
        Op.ExtractSubArrayQCOM: _sub_array,
        Op.Constant: _constant,
        Op.ConstantTrue: _constant,
        Op.ConstantFalse: _constant,
        Op.ConstantNull: _constant,
        Op.ConstantComposite: _constant,
        Op.SpecConstant: _constant,
        Op.SpecConstantTrue: _constant,
        Op.SpecConstantFalse: _constant,
        Op.SpecConstantOp: _constant,
        Op.SpecConstantComposite: _constant,
        Op.Variable: _variable,
        Op.UntypedVariableKHR: _untyped_variable,
    }
)


@lru_cache(maxsize=512)
def read_needs(module: bytes, entry_point: str = "main") -> ModuleNeeds:
    """Read the declarations of ``module`` and of the entry point with that name. Skip other instructions.

    Raises:
        NotSpirv: ``module`` is not SPIR-V, or an instruction that is read is invalid.
    """
    header = read_header(module)
    found = _Found(entry_point=entry_point)
    position = 0
    try:
        for opcode, operands, at in read_words(module):
            position = at
            if len(operands) < _LEAST.get(opcode, 0):
                raise _Wrong(f"Op{Op(opcode).name} lacks operands")
            read = _READERS.get(opcode)
            if opcode in _TYPED:
                type_ = operands[0]
                if type_ in found.composites:
                    found.composite_of[operands[1]] = type_
                elif type_ in found.matrices:
                    read = _matrix_value
                elif type_ in found.vectors:
                    read = _vector_value
            if read is not None:
                read(found, opcode, operands)
        if found.workgroup_size in found.vectors_of_constants:
            # The constant decorated with WorkgroupSize takes precedence over the execution mode.
            found.local_size, found.local_size_ids = _three(found.vectors_of_constants[found.workgroup_size]), True
    except _Wrong as error:
        raise NotSpirv(position, str(error)) from None
    # Without untyped pointers, all blocks in workgroup memory must be aliased.
    untyped = Capability.UntypedPointersKHR in found.capabilities
    return ModuleNeeds(
        header.version,
        tuple(found.capabilities),
        tuple(found.extensions),
        tuple(found.float_modes),
        found.local_size,
        found.local_size_ids,
        found.local_size_mode,
        found.matrices,
        tuple(found.muladds),
        found.vectors,
        tuple(found.multiplies),
        tuple(found.accumulations),
        tuple(found.sub_arrays),
        found.scalars,
        found.composites,
        tuple((data, id_ in found.aliased or not untyped) for id_, data in found.shared if found.uses(id_)),
        frozenset(found.blocks),
        found.constants,
        found.offsets,
    )
