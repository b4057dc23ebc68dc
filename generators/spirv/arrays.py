"""Single elements of arrays in memory.

Under the Vulkan memory model, one invocation sees an element that another has written if both accesses are non-private, and between them
are a release with an availability operation and an acquire with a visibility operation. By default, the accesses here are
NonPrivatePointer, and the barrier does the rest (MakeAvailable, MakeVisible). With the handover ``access``, as in glslang's modules, the
accesses have MakePointerAvailable and MakePointerVisible.
"""

from __future__ import annotations

from generators.program.arrays import ArrayLoad, ArrayStore, AtomicAdd, AtomicOr
from generators.program.memory import Array
from generators.spirv.enumerants import MemorySemantics, Op
from generators.spirv.shader import Shader, emits
from generators.types import MemoryAccess, MemoryScope, StorageClass

_ORDER = MemorySemantics.AcquireRelease | MemorySemantics.UniformMemory | MemorySemantics.MakeAvailable | MemorySemantics.MakeVisible


@emits(ArrayLoad)
def emit_array_load(shader: Shader, operation: ArrayLoad) -> None:
    """Emit a load."""
    array = operation.array
    place = shader.element(array, shader.id(operation.index))
    operands = _memory_operands(shader, array, writes=False)
    shader.module.value(Op.Load, shader.pointee(array), place, *operands, result=shader.define(operation.result))


@emits(ArrayStore)
def emit_array_store(shader: Shader, operation: ArrayStore) -> None:
    """Emit a store."""
    array = operation.array
    place = shader.element(array, shader.id(operation.index))
    shader.module.instruction(Op.Store, place, shader.id(operation.value), *_memory_operands(shader, array, writes=True))


@emits(AtomicAdd)
def emit_atomic_add(shader: Shader, operation: AtomicAdd) -> None:
    """Emit OpAtomicIAdd."""
    place = shader.element(operation.array, shader.id(operation.index))
    arguments = shader.u32(operation.scope), shader.u32(int(_ORDER)), shader.id(operation.value)
    shader.module.value(Op.AtomicIAdd, shader.pointee(operation.array), place, *arguments, result=shader.define(operation.result))


@emits(AtomicOr)
def emit_atomic_or(shader: Shader, operation: AtomicOr) -> None:
    """Emit OpAtomicOr."""
    place = shader.element(operation.array, shader.id(operation.index))
    scope, order = shader.u32(MemoryScope.QUEUE_FAMILY), shader.u32(int(_ORDER) if operation.ordered else 0)
    value, result = shader.id(operation.value), None if operation.result is None else shader.define(operation.result)
    shader.module.value(Op.AtomicOr, shader.pointee(operation.array), place, scope, order, value, result=result)


def _memory_operands(shader: Shader, array: Array, writes: bool) -> tuple[int, ...]:
    """Return the Memory Operands of an access to one element of ``array``; none if none are needed."""
    mask, operands = 0, []
    if array.storage is StorageClass.PHYSICAL_STORAGE_BUFFER:
        mask |= MemoryAccess.ALIGNED
        operands.append(array.pointee.component.bytes)
    if shader.is_shared(array):
        mask |= MemoryAccess.NON_PRIVATE_POINTER
        scope = shader.handover_scope
        if scope is not None:
            mask |= MemoryAccess.MAKE_POINTER_AVAILABLE if writes else MemoryAccess.MAKE_POINTER_VISIBLE
            operands.append(shader.u32(scope))
    return (int(mask), *operands) if mask else ()
