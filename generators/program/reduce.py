"""OpCooperativeMatrixReduceNV (SPV_NV_cooperative_matrix2, 3.49.13)."""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.functions import Function
from generators.program.operation import Operation
from generators.program.values import Matrix
from generators.types import ReduceMode


@dataclass(frozen=True)
class Reduce(Operation):
    """Every element of ``result`` combines a row, a column, the whole or an aligned 2x2 neighbourhood of ``matrix`` by ``function``, which
    is commutative and associative on the data."""

    result: Matrix
    matrix: Matrix
    mode: ReduceMode
    function: Function
