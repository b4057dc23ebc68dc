"""Cooperative copies, and the barrier.

Under the Vulkan memory model an element written by one invocation is seen by another if both accesses are non-private and a
release with an availability operation and an acquire with a visibility operation lie between them. The accesses here are
NonPrivatePointer, and the barrier does the rest (MakeAvailable, MakeVisible); glslang does it the other way round, with
MakePointerAvailable and MakePointerVisible on the accesses, so that the two front ends exercise both.
"""

from __future__ import annotations

from generators.program.memory import Array
from generators.program.workgroup import Barrier, Copy
from generators.spirv.control_flow import counting_loop
from generators.spirv.enumerants import BuiltIn, MemorySemantics, Op, Scope
from generators.spirv.shader import Shader
from generators.types import MemoryAccess, StorageClass

_SEMANTICS = int(
    MemorySemantics.AcquireRelease
    | MemorySemantics.UniformMemory
    | MemorySemantics.WorkgroupMemory
    | MemorySemantics.MakeAvailable
    | MemorySemantics.MakeVisible
)


def emit_barrier(shader: Shader, _: Barrier) -> None:
    """Emits a barrier of the workgroup."""
    workgroup = shader.u32(Scope.Workgroup)
    shader.module.instruction(Op.ControlBarrier, workgroup, workgroup, shader.u32(_SEMANTICS))


def emit_copy(shader: Shader, copy: Copy) -> None:
    """Emits a loop that copies elements, each invocation beginning at its own."""
    module = shader.module
    type_ = shader.pointee(copy.source)
    name = f"{copy.target.name}_index"
    index = module.new_id(name)

    def body() -> None:
        element = module.value(Op.Load, type_, shader.element(copy.source, index), *_memory_operands(shader, copy.source))
        module.instruction(Op.Store, shader.element(copy.target, index), element, *_memory_operands(shader, copy.target))

    first = shader.built_in(BuiltIn.LocalInvocationIndex, "gl_LocalInvocationIndex")
    counting_loop(shader, name, first, shader.extent(copy.length), shader.local_size, index, (), body)


def _memory_operands(shader: Shader, array: Array) -> tuple[int, ...]:
    mask = int(MemoryAccess.NON_PRIVATE_POINTER) if shader.is_shared(array) else 0
    if array.storage is StorageClass.PHYSICAL_STORAGE_BUFFER:
        return mask | MemoryAccess.ALIGNED, array.pointee.component.bytes
    return (mask,) if mask else ()
