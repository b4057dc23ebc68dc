"""``length()`` of a matrix (GL_KHR_cooperative_matrix, 5.X), and coopMatGetCoordinateEXT (GL_EXT_cooperative_matrix_maintenance1)."""

from __future__ import annotations

from generators.glsl.shader import MAINTENANCE1, Shader, prints
from generators.glsl.spelling import identifier, literal
from generators.glsl.variables import assignee
from generators.program.elements import MatrixCoordinate, MatrixLength


@prints(MatrixLength)
def emit_length(shader: Shader, operation: MatrixLength) -> None:
    """Write the length of a matrix of zeros, which has the type and costs no computation."""
    matrix = f"{shader.matrix_type(operation.type)}({literal(operation.type.component, 0)})"
    shader.line(f"uint {identifier(operation.result.name)} = uint({matrix}.length());")


@prints(MatrixCoordinate)
def emit_coordinate(shader: Shader, operation: MatrixCoordinate) -> None:
    """Write a call."""
    shader.require(MAINTENANCE1)
    matrix, index = shader.text(operation.matrix), shader.text(operation.index)
    shader.line(f"{assignee(shader, operation.result)} = coopMatGetCoordinateEXT({matrix}, {index});")
