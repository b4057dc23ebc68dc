"""Barriers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.glsl.shader import Shader, prints
from generators.program.workgroup import Barrier
from generators.types import MemoryScope

SCOPES: Mapping[MemoryScope, str] = MappingProxyType(
    {MemoryScope.WORKGROUP: "gl_ScopeWorkgroup", MemoryScope.SUBGROUP: "gl_ScopeSubgroup", MemoryScope.QUEUE_FAMILY: "gl_ScopeQueueFamily"}
)
_BOTH = "gl_StorageSemanticsBuffer | gl_StorageSemanticsShared"


@prints(Barrier)
def emit_barrier(shader: Shader, barrier: Barrier) -> None:
    """Write a barrier. ``barrier()`` would order only shared memory."""
    shader.require("GL_KHR_memory_scope_semantics")
    scope = SCOPES[barrier.scope]
    if barrier.handover != "fences":
        shader.line(f"controlBarrier({scope}, {scope}, {_BOTH}, gl_SemanticsAcquireRelease);")
        return
    fence = f"memoryBarrier({scope}, {_BOTH}, gl_SemanticsAcquireRelease);"
    shader.line(fence)
    shader.line(f"controlBarrier({scope}, {scope}, 0, 0);")
    shader.line(fence)
