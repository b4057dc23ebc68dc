"""``length()`` of a matrix (GL_KHR_cooperative_matrix, 5.X), and coopMatGetCoordinateEXT (GL_EXT_cooperative_matrix_maintenance1)."""

from __future__ import annotations

from generators.glsl.shader import MAINTENANCE1, Shader, prints
from generators.glsl.spelling import literal
from generators.glsl.values import assign
from generators.program.elements import MatrixCoordinate, MatrixLength


@prints(MatrixLength)
def emit_length(shader: Shader, operation: MatrixLength) -> None:
    """Write the length of a matrix of zeros, which has the type and costs no computation."""
    matrix = f"{shader.matrix_type(operation.type)}({literal(operation.type.component, 0)})"
    assign(shader, operation.result, f"uint({matrix}.length())")


@prints(MatrixCoordinate)
def emit_coordinate(shader: Shader, operation: MatrixCoordinate) -> None:
    """Write a call."""
    shader.require(MAINTENANCE1)
    assign(shader, operation.result, f"coopMatGetCoordinateEXT({shader.text(operation.matrix)}, {shader.text(operation.index)})")
