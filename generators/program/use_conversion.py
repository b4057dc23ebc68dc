"""OpCooperativeMatrixConvertNV and OpCooperativeMatrixTransposeNV (SPV_NV_cooperative_matrix2, 3.49.11)."""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.operation import Operation
from generators.program.values import Matrix


@dataclass(frozen=True)
class UseConvert(Operation):
    """``result`` has the elements of ``matrix``, an accumulator, and use A or B (CM2-CVT-03). In a program with ``maintenance1`` it may be
    an accumulator with the elements of an A or B (M1-USE-02), and have integers of the other signedness with the same bits (M1-USE-06)."""

    result: Matrix
    matrix: Matrix


@dataclass(frozen=True)
class Transpose(Operation):
    """Element (r, c) of ``result``, of use B, is element (c, r) of ``matrix``, an accumulator (CM2-TR-02)."""

    result: Matrix
    matrix: Matrix
