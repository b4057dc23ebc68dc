"""The types of values, and instructions that compute one value from others."""

from __future__ import annotations

from functools import cache

from generators.program.values import (
    MOST_PLAIN_LANES,
    AnyValue,
    ArrayType,
    BlockType,
    CooperativeVectorType,
    MatrixType,
    Operand,
    PointerType,
    TensorLayoutType,
    TensorViewType,
    ValueType,
    VectorType,
)
from generators.spirv.declarations import block_struct, element_pointer, pointer, scalar
from generators.spirv.enumerants import Capability, Op, StorageClass
from generators.spirv.grammar import GRAMMAR
from generators.spirv.shader import Shader
from generators.types import ComponentType

_OF_SHADERS = ("Shader", *GRAMMAR.kinds["Capability"].by_name["Shader"].capabilities)
"""The capabilities that every shader has."""


def type_id(shader: Shader, type_: ValueType) -> int:
    """Return the id of any type that a value or a variable can have."""
    module = shader.module
    match type_:
        case MatrixType():
            return shader.matrix_type(type_)
        case CooperativeVectorType():
            return shader.vector_type(type_)
        case ComponentType():
            return scalar(module, type_)
        case TensorLayoutType() | TensorViewType():
            return _tensor_type(shader, type_)
        case BlockType():
            # glslang declares buffer references as Blocks; either is a struct with offsets.
            storage = StorageClass.PhysicalStorageBuffer
            return pointer(module, storage, block_struct(module, type_, storage, is_interface=True))
        case PointerType():
            return element_pointer(module, type_)
        case VectorType():
            if type_.lanes > MOST_PLAIN_LANES:
                module.require(Capability.LongVectorEXT)
            return module.type(Op.TypeVector, scalar(module, type_.component), type_.lanes)
        case ArrayType():
            return module.type(Op.TypeArray, type_id(shader, type_.element), shader.extent(type_.length))

    def declare() -> int:
        return module.new_type(Op.TypeStruct, *(type_id(shader, member) for member in type_.members), name=type_.name)

    return module.once(("struct", type_), declare)


def _tensor_type(shader: Shader, type_: TensorLayoutType | TensorViewType) -> int:
    module = shader.module
    module.require(Capability.TensorAddressingNV)
    if isinstance(type_, TensorLayoutType):
        # ClampMode is an IntEnum: a literal one is also an extent.
        return module.type(Op.TypeTensorLayoutNV, shader.extent(type_.rank), shader.extent(type_.clamp))
    rank = shader.extent(len(type_.permutation) if type_.rank is None else type_.rank)
    permutation = [shader.extent(dimension) for dimension in type_.permutation]
    return module.type(Op.TypeTensorViewNV, rank, shader.boolean(type_.has_dimensions), *permutation)


def compute(shader: Shader, op: Op, result: AnyValue, *operands: AnyValue | Operand | int) -> int:
    """Add an instruction that computes ``result``, with the capability that the grammar names first for it; return the id of the result.

    The type comes first among the ids, then each operand, then the result. An operand that is an int is a word: a literal, or an id.
    """
    shader.module.require(*capabilities(op))
    type_ = type_id(shader, result.type)
    words = [operand if isinstance(operand, int) else shader.id(operand) for operand in operands]
    return shader.module.value(op, type_, *words, result=shader.define(result))


@cache
def capabilities(op: Op) -> tuple[Capability, ...]:
    """Return the capability of an instruction that the grammar names first, unless it has none or every shader has it."""
    return tuple(Capability.named(name) for name in GRAMMAR.instructions[op].capabilities[:1] if name not in _OF_SHADERS)
