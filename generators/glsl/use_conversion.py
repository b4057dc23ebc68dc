"""Constructors that change the use, and coopMatTransposeNV (GL_NV_cooperative_matrix2)."""

from __future__ import annotations

from generators.glsl.shader import Shader
from generators.program.use_conversion import Transpose, UseConvert


def emit_use_convert(shader: Shader, operation: UseConvert) -> None:
    """Write a constructor."""
    shader.require_shared()
    shader.line(f"{shader.assignee(operation.result)} = {shader.matrix_type(operation.result.type)}({shader.text(operation.matrix)});")


def emit_transpose(shader: Shader, operation: Transpose) -> None:
    """Write a call."""
    shader.require("GL_NV_cooperative_matrix2")
    if operation.result.name not in shader.variables:
        shader.line(f"{shader.assignee(operation.result)};")
    shader.line(f"coopMatTransposeNV({shader.text(operation.result)}, {shader.text(operation.matrix)});")
