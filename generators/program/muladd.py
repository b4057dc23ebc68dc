"""OpCooperativeMatrixMulAddKHR (SPV_KHR_cooperative_matrix, 3.42.13)."""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.operation import Operation
from generators.program.values import Matrix
from generators.types import MatrixOperands


@dataclass(frozen=True)
class MatrixMulAdd(Operation):
    """``result`` = ``a`` x ``b`` + ``c``. If ``operands`` is None, the optional mask is left out, which means the same as NONE
    (KHR-MAD-12)."""

    result: Matrix
    a: Matrix
    b: Matrix
    c: Matrix
    operands: MatrixOperands | None = None
