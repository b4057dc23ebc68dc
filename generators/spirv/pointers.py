"""Pointers as values: access chains, OpSelect, OpPtrAccessChain, matrix accesses through their results; and loads from blocks of packed
data."""

from __future__ import annotations

from generators.program import pointers as language
from generators.program.load_store import layout_value
from generators.program.memory import Pointee
from generators.program.program import Program
from generators.program.values import MatrixType, Operand, PointerType
from generators.spirv.control_flow import emit_condition
from generators.spirv.declarations import STORAGE, element_pointer, pointee_in, pointer, scalar
from generators.spirv.enumerants import Capability, MemoryAccess, Op, StorageClass
from generators.spirv.load_store import access_operands, layout_id
from generators.spirv.module import Module
from generators.spirv.shader import Shader, emits
from generators.spirv.values import compute, type_id
from generators.types import COMPONENT_TYPES
from generators.types import StorageClass as ArrayStorage

_CAPABILITIES = {"one_buffer": Capability.VariablePointersStorageBuffer, "any": Capability.VariablePointers}


def require_variable_pointers(module: Module, program: Program) -> None:
    """Declare the capability that the program's variable pointers need, if it has any."""
    kind = language.variable_pointers(program.every_operation)
    if kind != "none":
        module.require(_CAPABILITIES[kind])


@emits(language.ElementPointer)
def emit_element_pointer(shader: Shader, operation: language.ElementPointer) -> None:
    """Emit an access chain."""
    array, type_ = operation.arrays[0], operation.result.type
    index = shader.id(operation.index)
    if operation.which is None:
        shader.element_pointer(array, index, type_, result=shader.define(operation.result))
        return
    which = shader.id(operation.which)
    is_constant = isinstance(operation.which, Operand) and operation.which.source in ("literal", "specialization")
    shader.descriptor_pointer(array, which, is_constant, index, type_, operation.non_uniform, result=shader.define(operation.result))


@emits(language.PointerSelect)
def emit_pointer_select(shader: Shader, operation: language.PointerSelect) -> None:
    """Emit OpSelect of pointers."""
    type_, condition = element_pointer(shader.module, operation.result.type), emit_condition(shader, operation.condition)
    then, otherwise = shader.define(operation.then), shader.define(operation.otherwise)
    shader.module.value(Op.Select, type_, condition, then, otherwise, result=shader.define(operation.result))


@emits(language.PointerMoved)
def emit_pointer_moved(shader: Shader, operation: language.PointerMoved) -> None:
    """Emit OpPtrAccessChain, or OpUntypedPtrAccessChainKHR with the element as Base Type."""
    module, type_ = shader.module, operation.result.type
    pointer, elements, result = shader.define(operation.pointer), shader.id(operation.elements), shader.define(operation.result)
    if not type_.untyped:
        module.value(Op.PtrAccessChain, element_pointer(module, type_), pointer, elements, result=result)
        return
    element = pointee_in(module, language.pointee(type_), STORAGE[type_.storage])
    module.value(Op.UntypedPtrAccessChainKHR, element_pointer(module, type_), element, pointer, elements, result=result)


@emits(language.PointerLoad)
def emit_pointer_load(shader: Shader, operation: language.PointerLoad) -> None:
    """Emit a load."""
    type_ = operation.result.type
    shader.module.value(
        Op.CooperativeMatrixLoadKHR,
        shader.matrix_type(type_),
        shader.define(operation.pointer),
        layout_id(shader, operation.layout),
        shader.id(operation.stride),
        *_memory_operands(shader, operation, type_, writes=False),
        result=shader.define(operation.result),
    )


@emits(language.PointerStore)
def emit_pointer_store(shader: Shader, operation: language.PointerStore) -> None:
    """Emit a store."""
    shader.module.instruction(
        Op.CooperativeMatrixStoreKHR,
        shader.define(operation.pointer),
        shader.define(operation.matrix),
        layout_id(shader, operation.layout),
        shader.id(operation.stride),
        *_memory_operands(shader, operation, operation.matrix.type, writes=True),
    )


def _memory_operands(
    shader: Shader, access: language.PointerLoad | language.PointerStore, type_: MatrixType, writes: bool
) -> tuple[int, ...]:
    pointer: PointerType = access.pointer.type
    alignment = language.pointer_alignment(type_, layout_value(access.layout), pointer)
    shared = shader.is_shared_storage(pointer.storage)
    is_physical = pointer.storage is ArrayStorage.PHYSICAL_STORAGE_BUFFER
    return access_operands(shader, shared, is_physical, alignment, access.memory, int(type_.scope_value), writes)


@emits(language.BlockLoad)
def emit_block_load(shader: Shader, load: language.BlockLoad) -> None:
    """Emit an access chain and a load that promises the block's alignment."""
    module, storage = shader.module, StorageClass.PhysicalStorageBuffer
    member = load.pointer.type.members[load.member]
    type_ = scalar(module, member.component)
    indices = [shader.u32(load.member)]
    if load.index is not None:
        indices.append(shader.id(load.index))
    element = pointer(module, storage, pointee_in(module, Pointee(member.component), storage))
    place = module.value(Op.AccessChain, element, shader.define(load.pointer), *indices)
    module.value(Op.Load, type_, place, MemoryAccess.Aligned, language.promised_alignment(load), result=shader.define(load.result))


@emits(language.BlockAddress)
def emit_block_address(shader: Shader, operation: language.BlockAddress) -> None:
    """Emit the address of the array as an integer, its sum with the offset, and a pointer to that sum."""
    module, u64 = shader.module, scalar(shader.module, COMPONENT_TYPES["u64"])
    base = module.value(Op.ConvertPtrToU, u64, shader.base(operation.array))
    distance = module.value(Op.UConvert, u64, shader.id(operation.offset))
    address = module.value(Op.IAdd, u64, base, distance)
    module.value(Op.ConvertUToPtr, type_id(shader, operation.result.type), address, result=shader.define(operation.result))


@emits(language.BlockCast)
def emit_block_cast(shader: Shader, operation: language.BlockCast) -> None:
    """Emit OpBitcast from pointer to pointer."""
    compute(shader, Op.Bitcast, operation.result, operation.pointer)
