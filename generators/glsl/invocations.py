"""Code that each invocation runs for itself."""

from __future__ import annotations

from generators.glsl.scalars import workgroup_index
from generators.glsl.shader import Shader
from generators.glsl.spelling import identifier
from generators.program.invocations import PerInvocation
from generators.types import Scope


def emit_per_invocation(shader: Shader, operation: PerInvocation) -> None:
    """Write the index, and the body."""
    instance, own = workgroup_index(shader), "gl_LocalInvocationIndex"
    if shader.program.scope is Scope.SUBGROUP:
        shader.require("GL_KHR_shader_subgroup_basic")
        instance, own = f"({instance} * gl_NumSubgroups + gl_SubgroupID)", "gl_SubgroupInvocationID"
    shader.line(f"uint {identifier(operation.index.name)} = {instance} * {operation.size}u + {own};")
    shader.emit(operation.body)
