"""Blocks of packed data in physical storage: structs with offsets, and loads of their members."""

from __future__ import annotations

from generators.program.blocks import BlockAddress, BlockCast, BlockLoad, promised_alignment
from generators.program.memory import Pointee
from generators.program.values import BlockType
from generators.spirv.declarations import block_struct, pointee_in, pointer, scalar
from generators.spirv.enumerants import MemoryAccess, Op, StorageClass
from generators.spirv.shader import Shader, emits
from generators.types import COMPONENT_TYPES


def block_pointer(shader: Shader, block: BlockType) -> int:
    """Return the id of the type of a pointer to a block."""
    storage = StorageClass.PhysicalStorageBuffer
    # glslang declares buffer references as Blocks; either is a struct with offsets.
    return pointer(shader.module, storage, block_struct(shader.module, block, storage, is_interface=True))


@emits(BlockLoad)
def emit_block_load(shader: Shader, load: BlockLoad) -> None:
    """Emit an access chain and a load that promises the block's alignment."""
    module, storage = shader.module, StorageClass.PhysicalStorageBuffer
    member = load.pointer.type.members[load.member]
    type_ = scalar(module, member.component)
    indices = [shader.u32(load.member)]
    if load.index is not None:
        indices.append(shader.id(load.index))
    element = pointer(module, storage, pointee_in(module, Pointee(member.component), storage))
    place = module.value(Op.AccessChain, element, shader.define(load.pointer), *indices)
    module.value(Op.Load, type_, place, MemoryAccess.Aligned, promised_alignment(load), result=shader.define(load.result))


@emits(BlockAddress)
def emit_block_address(shader: Shader, operation: BlockAddress) -> None:
    """Emit the address of the array as an integer, its sum with the offset, and a pointer to that sum."""
    module, u64 = shader.module, scalar(shader.module, COMPONENT_TYPES["u64"])
    base = module.value(Op.ConvertPtrToU, u64, shader.base(operation.array))
    distance = module.value(Op.UConvert, u64, shader.id(operation.offset))
    address = module.value(Op.IAdd, u64, base, distance)
    module.value(Op.ConvertUToPtr, block_pointer(shader, operation.result.type), address, result=shader.define(operation.result))


@emits(BlockCast)
def emit_block_cast(shader: Shader, operation: BlockCast) -> None:
    """Emit OpBitcast from pointer to pointer."""
    type_ = block_pointer(shader, operation.result.type)
    shader.module.value(Op.Bitcast, type_, shader.define(operation.pointer), result=shader.define(operation.result))
