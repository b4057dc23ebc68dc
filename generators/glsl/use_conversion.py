"""Constructors that change the use, and coopMatTransposeNV (GL_NV_cooperative_matrix2)."""

from __future__ import annotations

from generators.errors import Lack, NotExpressible
from generators.glsl.shader import MAINTENANCE1, MATRIX2, Shader, prints
from generators.program.use_conversion import Transpose, UseConvert


@prints(UseConvert)
def emit_use_convert(shader: Shader, operation: UseConvert) -> None:
    """Write a constructor."""
    shader.require_shared()
    shader.line(f"{shader.assignee(operation.result)} = {shader.matrix_type(operation.result.type)}({shader.text(operation.matrix)});")


@prints(Transpose)
def emit_transpose(shader: Shader, operation: Transpose) -> None:
    """Write a call."""
    shader.require(MATRIX2)
    shader.transposes = True
    if operation.result.name not in shader.variables:
        shader.line(f"{shader.assignee(operation.result)};")
    shader.line(f"coopMatTransposeNV({shader.text(operation.result)}, {shader.text(operation.matrix)});")


def check_transpositions(shader: Shader) -> None:
    """Check that glslang writes OpCooperativeMatrixTransposeNV for each transposition.

    Raises:
        NotExpressible: the shader needs the extension with which glslang 16.6 writes a conversion with CooperativeMatrixTransposeEXT.
    """
    if shader.transposes and MAINTENANCE1 in shader.extensions:
        raise NotExpressible(Lack.TRANSPOSITION, f"coopMatTransposeNV is another instruction in a shader with {MAINTENANCE1}")
