"""OpCooperativeMatrixLengthKHR and OpCooperativeMatrixGetCoordinateEXT."""

from __future__ import annotations

from generators.program.elements import MatrixCoordinate, MatrixLength
from generators.spirv.enumerants import Op
from generators.spirv.shader import Shader, emits
from generators.spirv.values import compute


@emits(MatrixLength)
def emit_length(shader: Shader, operation: MatrixLength) -> None:
    """Emit the length of a matrix type."""
    compute(shader, Op.CooperativeMatrixLengthKHR, operation.result, shader.matrix_type(operation.type))


@emits(MatrixCoordinate)
def emit_coordinate(shader: Shader, operation: MatrixCoordinate) -> None:
    """Emit the coordinate of a component."""
    index = shader.id(operation.index)
    compute(shader, Op.CooperativeMatrixGetCoordinateEXT, operation.result, operation.matrix, index)
