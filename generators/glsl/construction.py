"""Matrices made of a scalar: the constructor of coopmat (GL_KHR_cooperative_matrix, 5.4.X)."""

from __future__ import annotations

from generators.glsl.shader import Shader
from generators.program.construction import MatrixSplat


def emit_splat(shader: Shader, splat: MatrixSplat) -> None:
    """Writes a constructor call."""
    shader.line(f"{shader.assignee(splat.result)} = {shader.matrix_type(splat.result.type)}({shader.scalar(splat.value)});")
