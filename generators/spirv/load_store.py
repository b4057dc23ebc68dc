"""OpCooperativeMatrixLoadKHR and OpCooperativeMatrixStoreKHR."""

from __future__ import annotations

from generators.program.load_store import MatrixLoad, MatrixStore, MemoryLayout, MemoryOperand, guaranteed_alignment, layout_value
from generators.program.memory import Array
from generators.spirv.enumerants import Op
from generators.spirv.shader import Shader, emits
from generators.types import Layout, MemoryAccess, StorageClass


@emits(MatrixLoad)
def emit_load(shader: Shader, load: MatrixLoad) -> None:
    """Emit a load."""
    pointer, type_ = shader.element(load.array, shader.id(load.first)), load.result.type
    shader.module.value(
        Op.CooperativeMatrixLoadKHR,
        shader.matrix_type(type_),
        pointer,
        layout_id(shader, load.layout),
        shader.id(load.stride),
        *memory_operands(
            shader,
            load.array,
            guaranteed_alignment(type_, layout_value(load.layout), load.array),
            load.memory,
            int(type_.scope_value),
            writes=False,
        ),
        result=shader.define(load.result),
    )


@emits(MatrixStore)
def emit_store(shader: Shader, store: MatrixStore) -> None:
    """Emit a store."""
    pointer, type_ = shader.element(store.array, shader.id(store.first)), store.matrix.type
    shader.module.instruction(
        Op.CooperativeMatrixStoreKHR,
        pointer,
        shader.define(store.matrix),
        layout_id(shader, store.layout),
        shader.id(store.stride),
        *memory_operands(
            shader,
            store.array,
            guaranteed_alignment(type_, layout_value(store.layout), store.array),
            store.memory,
            int(type_.scope_value),
            writes=True,
        ),
    )


def layout_id(shader: Shader, layout: MemoryLayout) -> int:
    """Return the id of a layout's constant."""
    return shader.u32(layout) if isinstance(layout, Layout) else shader.id(layout)


def memory_operands(
    shader: Shader, array: Array, alignment: int, memory: MemoryOperand | None, own_scope: int, writes: bool
) -> tuple[int, ...]:
    """Return the mask and its operands, in the order of the mask's bits; empty if no mask is given or needed. ``alignment`` is the access's
    guaranteed alignment in bytes, for an Aligned that states none; ``own_scope`` is the object's scope, for a ``memory`` without a
    scope."""
    is_physical = array.storage is StorageClass.PHYSICAL_STORAGE_BUFFER
    return access_operands(shader, shader.is_shared(array), is_physical, alignment, memory, own_scope, writes)


def access_operands(
    shader: Shader, shared: bool, is_physical: bool, alignment: int, memory: MemoryOperand | None, own_scope: int, writes: bool
) -> tuple[int, ...]:
    """Return the same as ``memory_operands``. ``shared``: whether invocations pass data to each other through the memory. ``is_physical``:
    whether it is in a physical storage buffer."""
    mask = 0 if memory is None else int(memory.mask)
    scope = own_scope if memory is None or memory.scope is None else int(memory.scope)
    if shared and shader.handover_scope is not None:
        mask |= MemoryAccess.MAKE_POINTER_AVAILABLE if writes else MemoryAccess.MAKE_POINTER_VISIBLE
        if memory is None or memory.scope is None:
            scope = int(shader.handover_scope)
    if is_physical:
        mask |= MemoryAccess.ALIGNED
    if shared or mask & (MemoryAccess.MAKE_POINTER_AVAILABLE | MemoryAccess.MAKE_POINTER_VISIBLE):
        mask |= MemoryAccess.NON_PRIVATE_POINTER
    if memory is None and not mask:
        return ()
    words = [mask]
    if mask & MemoryAccess.ALIGNED:
        given = None if memory is None else memory.alignment
        words.append(alignment if given is None else given)
    if mask & MemoryAccess.MAKE_POINTER_AVAILABLE:
        words.append(shader.u32(scope))
    if mask & MemoryAccess.MAKE_POINTER_VISIBLE:
        words.append(shader.u32(scope))
    return tuple(words)
