"""OpCooperativeMatrixLengthKHR."""

from __future__ import annotations

from generators.program.elements import MatrixLength
from generators.spirv.declarations import U32, scalar
from generators.spirv.enumerants import Op
from generators.spirv.shader import Shader


def emit_length(shader: Shader, operation: MatrixLength) -> None:
    """Emit the length of a matrix type."""
    u32, type_ = scalar(shader.module, U32), shader.matrix_type(operation.type)
    shader.module.value(Op.CooperativeMatrixLengthKHR, u32, type_, result=shader.define(operation.result))
