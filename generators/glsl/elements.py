"""``length()`` of a matrix (GL_KHR_cooperative_matrix, 5.X)."""

from __future__ import annotations

from generators.glsl.shader import Shader
from generators.glsl.spelling import identifier, literal
from generators.program.elements import MatrixLength


def emit_length(shader: Shader, operation: MatrixLength) -> None:
    """Write the length of a matrix of zeros, which has the type and is not computed."""
    matrix = f"{shader.matrix_type(operation.type)}({literal(operation.type.component, 0)})"
    shader.line(f"uint {identifier(operation.result.name)} = uint({matrix}.length());")
