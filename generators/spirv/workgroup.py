"""Cooperative copies, barriers, and the last workgroup of a dispatch.

Under the Vulkan memory model an element written by one invocation is seen by another if both accesses are non-private and a
release with an availability operation and an acquire with a visibility operation lie between them. By default the accesses here
are NonPrivatePointer, and the barrier does the rest (MakeAvailable, MakeVisible); with the handover ``access``, as in what glslang
makes, the accesses have MakePointerAvailable and MakePointerVisible.
"""

from __future__ import annotations

from generators.program.memory import Array
from generators.program.workgroup import Barrier, Copy, LastWorkgroup
from generators.spirv.control_flow import counting_loop
from generators.spirv.declarations import U32, scalar
from generators.spirv.enumerants import BuiltIn, MemorySemantics, Op, Scope
from generators.spirv.shader import Shader
from generators.types import MemoryAccess, MemoryScope, StorageClass

_ORDER = MemorySemantics.AcquireRelease | MemorySemantics.UniformMemory | MemorySemantics.WorkgroupMemory
_HAND_OVER = MemorySemantics.MakeAvailable | MemorySemantics.MakeVisible


def emit_barrier(shader: Shader, barrier: Barrier) -> None:
    """Emits a control barrier."""
    semantics = int(_ORDER | _HAND_OVER if barrier.handover == "barrier" else _ORDER)
    scope = shader.u32(barrier.scope)
    shader.module.instruction(Op.ControlBarrier, scope, scope, shader.u32(semantics))


def emit_copy(shader: Shader, copy: Copy) -> None:
    """Emits a loop that copies elements, each invocation beginning at its own."""
    module = shader.module
    type_ = shader.pointee(copy.source)
    name = f"{copy.target.name}_index"
    index = module.new_id(name)

    def body() -> None:
        place = index
        if copy.backwards:
            place = module.value(Op.ISub, scalar(module, U32), shader.u32(copy.source.count - 1), index)
        element = module.value(Op.Load, type_, shader.element(copy.source, place), *memory_operands(shader, copy.source, writes=False))
        module.instruction(Op.Store, shader.element(copy.target, index), element, *memory_operands(shader, copy.target, writes=True))

    first = shader.built_in(BuiltIn.LocalInvocationIndex, "gl_LocalInvocationIndex")
    counting_loop(shader, name, first, shader.extent(copy.length), shader.invocations(), index, (), body)


def emit_last_workgroup(shader: Shader, last: LastWorkgroup) -> None:
    """Emits two selections: one invocation counts its workgroup, then all of the last one go on."""
    module, u32 = shader.module, scalar(shader.module, U32)
    boolean = module.type(Op.TypeBool)
    workgroup = Barrier(MemoryScope.WORKGROUP, "barrier")
    emit_barrier(shader, workgroup)
    lane = shader.built_in(BuiltIn.LocalInvocationIndex, "gl_LocalInvocationIndex")
    first = module.value(Op.IEqual, boolean, lane, shader.u32(0))
    with shader.selection("count", first):
        semantics = int(MemorySemantics.AcquireRelease | MemorySemantics.UniformMemory | _HAND_OVER)
        counter = shader.element(last.counter, shader.u32(0))
        arguments = shader.u32(Scope.QueueFamily), shader.u32(semantics), shader.u32(1)
        before = module.value(Op.AtomicIAdd, u32, counter, *arguments)
        module.instruction(Op.Store, shader.element(last.arrival, shader.u32(0)), before, int(MemoryAccess.NON_PRIVATE_POINTER))
    emit_barrier(shader, workgroup)
    arrival = module.value(Op.Load, u32, shader.element(last.arrival, shader.u32(0)), int(MemoryAccess.NON_PRIVATE_POINTER))
    is_last = module.value(Op.IEqual, boolean, arrival, shader.u32(shader.program.workgroup_count - 1))
    with shader.selection("last", is_last):
        module.value(Op.CopyObject, u32, shader.instance_in_workgroup(), result=shader.define(last.index))
        shader.emit(last.body)


def memory_operands(shader: Shader, array: Array, writes: bool) -> tuple[int, ...]:
    """Memory Operands of the load or store of one element of ``array``; none if none are needed."""
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
