"""What invocations know of their subgroup."""

from __future__ import annotations

from generators.glsl.scalars import workgroup_index
from generators.glsl.shader import Shader
from generators.program.subgroups import StoreSubgroups


def emit_store_subgroups(shader: Shader, operation: StoreSubgroups) -> None:
    """Writes a store of four built-ins to the invocation's own element."""
    shader.require("GL_KHR_shader_subgroup_basic")
    instance = f"({workgroup_index(shader)} * gl_NumSubgroups + gl_SubgroupID)"
    element = f"{instance} * {operation.subgroup_size}u + gl_SubgroupInvocationID"
    known = "uvec4(gl_SubgroupSize, gl_NumSubgroups, gl_SubgroupID, gl_SubgroupInvocationID)"
    shader.line(f"{shader.elements(operation.target)}[{element}] = {known};")
