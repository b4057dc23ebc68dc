"""Cooperative copies, and the barrier of the workgroup."""

from __future__ import annotations

from generators.glsl.shader import Shader
from generators.program.workgroup import Barrier, Copy


def emit_copy(shader: Shader, copy: Copy) -> None:
    """Writes a loop that copies elements, each invocation beginning at its own."""
    target, source = shader.elements(copy.target), shader.elements(copy.source)
    head = f"for (uint element = gl_LocalInvocationIndex; element < {shader.extent(copy.length, 'u')}; element += gl_WorkGroupSize.x)"
    with shader.braces(head):
        shader.line(f"{target}[element] = {source}[element];")


def emit_barrier(shader: Shader, _: Barrier) -> None:
    """Writes a barrier. ``barrier()`` would order shared memory only."""
    shader.require("GL_KHR_memory_scope_semantics")
    storage = "gl_StorageSemanticsBuffer | gl_StorageSemanticsShared"
    shader.line(f"controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, {storage}, gl_SemanticsAcquireRelease);")
