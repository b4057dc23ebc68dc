"""OpCooperativeMatrixMulAddKHR."""

from __future__ import annotations

from generators.program.muladd import MatrixMulAdd
from generators.spirv.enumerants import Op
from generators.spirv.shader import Shader, emits
from generators.spirv.values import compute


@emits(MatrixMulAdd)
def emit_muladd(shader: Shader, muladd: MatrixMulAdd) -> None:
    """Emit a multiply-add."""
    mask = () if muladd.operands is None else (int(muladd.operands),)
    compute(shader, Op.CooperativeMatrixMulAddKHR, muladd.result, muladd.a, muladd.b, muladd.c, *mask)
