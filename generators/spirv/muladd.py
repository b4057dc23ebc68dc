"""OpCooperativeMatrixMulAddKHR."""

from __future__ import annotations

from generators.program.muladd import MatrixMulAdd
from generators.spirv.enumerants import Op
from generators.spirv.shader import Shader, emits


@emits(MatrixMulAdd)
def emit_muladd(shader: Shader, muladd: MatrixMulAdd) -> None:
    """Emit a multiply-add."""
    shader.module.value(
        Op.CooperativeMatrixMulAddKHR,
        shader.matrix_type(muladd.result.type),
        shader.define(muladd.a),
        shader.define(muladd.b),
        shader.define(muladd.c),
        *(() if muladd.operands is None else (int(muladd.operands),)),
        result=shader.define(muladd.result),
    )
