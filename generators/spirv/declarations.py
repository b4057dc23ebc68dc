"""The suite's types and constants, each with the capabilities that its use needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from generators.program.memory import Pointee
from generators.program.values import BlockType, CooperativeVectorType, Extent, MatrixType, Operand, PointerType, Selected
from generators.spirv.enumerants import Capability, Decoration, FPEncoding, Op, StorageClass
from generators.spirv.module import Module
from generators.types import COMPONENT_TYPES, ComponentType
from generators.types import StorageClass as ArrayStorage

U32 = COMPONENT_TYPES["u32"]

STORAGE: Mapping[ArrayStorage, StorageClass] = MappingProxyType(
    {
        ArrayStorage.STORAGE_BUFFER: StorageClass.StorageBuffer,
        ArrayStorage.WORKGROUP: StorageClass.Workgroup,
        ArrayStorage.PHYSICAL_STORAGE_BUFFER: StorageClass.PhysicalStorageBuffer,
    }
)

_ENCODINGS: Mapping[str, FPEncoding] = MappingProxyType(
    {"bf16": FPEncoding.BFloat16KHR, "e4m3": FPEncoding.Float8E4M3EXT, "e5m2": FPEncoding.Float8E5M2EXT}
)

_SCALAR: Mapping[str, Capability] = MappingProxyType(
    {
        "f16": Capability.Float16,
        "f64": Capability.Float64,
        "bf16": Capability.BFloat16TypeKHR,
        "e4m3": Capability.Float8EXT,
        "e5m2": Capability.Float8EXT,
        "s8": Capability.Int8,
        "u8": Capability.Int8,
        "s16": Capability.Int16,
        "u16": Capability.Int16,
        "s64": Capability.Int64,
        "u64": Capability.Int64,
    }
)
"""Capabilities that a scalar type needs; f32, s32 and u32 need none."""

_MATRIX: Mapping[str, Capability] = MappingProxyType(
    {
        "bf16": Capability.BFloat16CooperativeMatrixKHR,
        "e4m3": Capability.Float8CooperativeMatrixEXT,
        "e5m2": Capability.Float8CooperativeMatrixEXT,
    }
)
"""Capabilities that a cooperative matrix needs for its component type, besides CooperativeMatrixKHR."""

_MEMORY: Mapping[tuple[StorageClass, int], Capability] = MappingProxyType(
    {
        (StorageClass.StorageBuffer, 8): Capability.StorageBuffer8BitAccess,
        (StorageClass.StorageBuffer, 16): Capability.StorageBuffer16BitAccess,
        (StorageClass.PhysicalStorageBuffer, 8): Capability.StorageBuffer8BitAccess,
        (StorageClass.PhysicalStorageBuffer, 16): Capability.StorageBuffer16BitAccess,
        (StorageClass.PushConstant, 8): Capability.StoragePushConstant8,
        (StorageClass.PushConstant, 16): Capability.StoragePushConstant16,
    }
)
"""Capabilities that a scalar of a width needs in a storage class, besides the scalar type's own capability."""


def scalar(module: Module, component: ComponentType) -> int:
    """Return the scalar type of ``component``."""
    capability = _SCALAR.get(component.name)
    if capability is not None:
        module.require(capability)
    if not component.is_float:
        return module.type(Op.TypeInt, component.bits, int(component.is_signed))
    encoding = _ENCODINGS.get(component.name)
    return module.type(Op.TypeFloat, component.bits) if encoding is None else module.type(Op.TypeFloat, component.bits, encoding)


def scalar_in(module: Module, component: ComponentType, storage: StorageClass) -> int:
    """Return the scalar type of ``component``, for an object in ``storage``."""
    capability = _MEMORY.get((storage, component.bits))
    if capability is not None:
        module.require(capability)
    return scalar(module, component)


def pointee_in(module: Module, pointee: Pointee, storage: StorageClass) -> int:
    """Return the type of ``pointee``, for an object in ``storage``."""
    if pointee.block is not None:
        return block_struct(module, pointee.block, storage, is_interface=False)
    element = scalar_in(module, pointee.component, storage)
    return element if pointee.lanes == 1 else module.type(Op.TypeVector, element, pointee.lanes)


def pointer(module: Module, storage: StorageClass, type_: int) -> int:
    """Return a pointer type."""
    if storage is StorageClass.PhysicalStorageBuffer:
        module.require(Capability.PhysicalStorageBufferAddresses)
    return module.type(Op.TypePointer, storage, type_)


def untyped_pointer(module: Module, storage: StorageClass) -> int:
    """Return a pointer type without a pointee type."""
    module.require(Capability.UntypedPointersKHR)
    if storage is StorageClass.PhysicalStorageBuffer:
        module.require(Capability.PhysicalStorageBufferAddresses)
    return module.type(Op.TypeUntypedPointerKHR, storage)


def element_pointer(module: Module, type_: PointerType) -> int:
    """Return the type of a pointer to an element of an array."""
    storage = STORAGE[type_.storage]
    if not type_.untyped:
        element = pointee_in(module, Pointee(type_.component, type_.lanes), storage)
        return with_stride(module, type_.bytes, Op.TypePointer, storage, element) if type_.strided else pointer(module, storage, element)
    if not type_.strided:
        return untyped_pointer(module, storage)
    module.require(Capability.UntypedPointersKHR)
    return with_stride(module, type_.bytes, Op.TypeUntypedPointerKHR, storage)


def with_stride(module: Module, stride: int, op: Op, *operands: int) -> int:
    """Return a type with an ArrayStride of ``stride`` bytes, declared once. A matrix access ignores a pointer's (KHR-PTR-03)."""

    def declare() -> int:
        result = module.new_type(op, *operands)
        module.decorate(result, Decoration.ArrayStride, stride)
        return result

    return module.once(("with stride", op, operands, stride), declare)


def block_struct(module: Module, block: BlockType, storage: StorageClass, is_interface: bool) -> int:
    """Return the struct of a block, with the decoration Block if it ``is_interface``: such structs cannot be in others that have it."""

    def declare() -> int:
        types = []
        for member in block.members:
            type_ = scalar_in(module, member.component, storage)
            if member.length is not None:
                element, length = type_, constant(module, COMPONENT_TYPES["u32"], member.length)
                type_ = module.new_type(Op.TypeArray, element, length)
                module.decorate(type_, Decoration.ArrayStride, member.component.bytes)
            types.append(type_)
        result = module.new_type(Op.TypeStruct, *types, name=block.name if is_interface else f"{block.name}Element")
        if is_interface:
            module.decorate(result, Decoration.Block)
        for i, member in enumerate(block.members):
            module.decorate_member(result, i, Decoration.Offset, member.offset)
        return result

    return module.once(("block", block, is_interface), declare)


def constant(module: Module, component: ComponentType, value: int) -> int:
    """Return a constant; ``value`` is the integer, or the bits of a floating-point number."""
    return module.constant(Op.Constant, scalar(module, component), *literal(component, value))


def literal(component: ComponentType, value: int) -> tuple[int, ...]:
    """Return the words of a number: low-order word first, a narrow one sign-extended if its type is signed (SPIR-V 2.2.1, Literal)."""
    if component.bits == 64:
        return value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF
    value &= (1 << component.bits) - 1
    if component.is_signed and value >> component.bits - 1:
        value |= 0xFFFFFFFF << component.bits & 0xFFFFFFFF
    return (value,)


def matrix(module: Module, type_: MatrixType, rows: int, columns: int, constant_of: Callable[[int | Operand], int]) -> int:
    """Declare a new OpTypeCooperativeMatrixKHR at each call. ``rows`` and ``columns`` are ids of constants; ``constant_of`` returns the ids
    of scope and use."""
    component = type_.component
    module.require(Capability.CooperativeMatrixKHR)
    capability = _MATRIX.get(component.name)
    if capability is not None:
        module.require(capability)
    element, scope, use = scalar(module, component), constant_of(type_.scope), constant_of(type_.use)
    size = "x".join(_size(extent) for extent in (type_.rows, type_.columns))
    name = f"matrix_{component}_{size}_{type_.use.name}"
    return module.new_type(Op.TypeCooperativeMatrixKHR, element, scope, rows, columns, use, name=name)


def cooperative_vector(module: Module, type_: CooperativeVectorType, count: int) -> int:
    """Declare a new OpTypeCooperativeVectorNV at each call. ``count`` is the id of a constant."""
    module.require(Capability.CooperativeVectorNV)
    element = scalar(module, type_.component)
    name = f"cooperative_vector_{type_.component}_{_size(type_.length)}"
    return module.new_type(Op.TypeCooperativeVectorNV, element, count, name=name)


def _size(value: Extent) -> str:
    """Return an extent in a name."""
    if isinstance(value, int):
        return str(value)
    return value.flag.name if isinstance(value, Selected) else value.name
