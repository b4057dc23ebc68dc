"""OpCooperativeMatrixLengthKHR and OpCooperativeMatrixGetCoordinateEXT."""

from __future__ import annotations

from generators.program.elements import MatrixCoordinate, MatrixLength
from generators.spirv.declarations import U32, scalar
from generators.spirv.enumerants import Capability, Op
from generators.spirv.shader import Shader, emits
from generators.spirv.variables import type_id


@emits(MatrixLength)
def emit_length(shader: Shader, operation: MatrixLength) -> None:
    """Emit the length of a matrix type."""
    u32, type_ = scalar(shader.module, U32), shader.matrix_type(operation.type)
    shader.module.value(Op.CooperativeMatrixLengthKHR, u32, type_, result=shader.define(operation.result))


@emits(MatrixCoordinate)
def emit_coordinate(shader: Shader, operation: MatrixCoordinate) -> None:
    """Emit the coordinate of a component."""
    shader.module.require(Capability.CooperativeMatrixGetCoordinateEXT)
    matrix, index = shader.define(operation.matrix), shader.id(operation.index)
    type_ = type_id(shader, operation.result.type)
    shader.module.value(Op.CooperativeMatrixGetCoordinateEXT, type_, matrix, index, result=shader.define(operation.result))
