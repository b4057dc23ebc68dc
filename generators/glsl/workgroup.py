"""Cooperative copies, barriers, and the last workgroup of a dispatch."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.glsl.shader import Shader
from generators.glsl.spelling import identifier
from generators.program.workgroup import Barrier, Copy, LastWorkgroup
from generators.types import MemoryScope, Scope

_SCOPES: Mapping[MemoryScope, str] = MappingProxyType(
    {MemoryScope.WORKGROUP: "gl_ScopeWorkgroup", MemoryScope.SUBGROUP: "gl_ScopeSubgroup", MemoryScope.QUEUE_FAMILY: "gl_ScopeQueueFamily"}
)
_BOTH = "gl_StorageSemanticsBuffer | gl_StorageSemanticsShared"


def emit_copy(shader: Shader, copy: Copy) -> None:
    """Writes a loop that copies elements, each invocation beginning at its own."""
    target, source = shader.elements(copy.target), shader.elements(copy.source)
    shape = shader.program.shape
    size = "gl_WorkGroupSize.x" + " * gl_WorkGroupSize.y" * (shape.y > 1) + " * gl_WorkGroupSize.z" * (shape.z > 1)
    head = f"for (uint element = gl_LocalInvocationIndex; element < {shader.extent(copy.length, 'u')}; element += {size})"
    with shader.braces(head):
        place = f"{copy.source.count - 1}u - element" if copy.backwards else "element"
        shader.line(f"{target}[element] = {source}[{place}];")


def emit_barrier(shader: Shader, barrier: Barrier) -> None:
    """Writes a barrier. ``barrier()`` would order shared memory only."""
    shader.require("GL_KHR_memory_scope_semantics")
    scope = _SCOPES[barrier.scope]
    shader.line(f"controlBarrier({scope}, {scope}, {_BOTH}, gl_SemanticsAcquireRelease);")


def emit_last_workgroup(shader: Shader, last: LastWorkgroup) -> None:
    """Writes two conditions: one invocation counts its workgroup, then all of the last one go on."""
    counter, arrival = f"{shader.elements(last.counter)}[0]", f"{shader.elements(last.arrival)}[0]"
    emit_barrier(shader, Barrier())
    with shader.braces("if (gl_LocalInvocationIndex == 0u)"):
        how = f"{_SCOPES[MemoryScope.QUEUE_FAMILY]}, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease"
        shader.line(f"{arrival} = atomicAdd({counter}, 1u, {how});")
    emit_barrier(shader, Barrier())
    with shader.braces(f"if ({arrival} == {shader.program.workgroup_count - 1}u)"):
        if shader.program.scope is Scope.SUBGROUP:
            shader.require("GL_KHR_shader_subgroup_basic")
        index = "0u" if shader.program.scope is Scope.WORKGROUP else "gl_SubgroupID"
        shader.line(f"uint {identifier(last.index.name)} = {index};")
        shader.emit(last.body)
