"""Arithmetic on the elements of matrices (SPV_KHR_cooperative_matrix, 3.42.13, Arithmetic Instructions)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.program.operation import Operation
from generators.program.values import Matrix, ScalarValue

Operator = Literal["add", "subtract", "multiply", "divide", "signed_divide", "unsigned_divide"]
"""``divide`` is OpFDiv. Integers have OpSDiv and OpUDiv, whose operands are signed or unsigned whatever OpTypeInt says; the other operators
are OpF or OpI, depending on the components."""


@dataclass(frozen=True)
class MatrixNegate(Operation):
    """``result`` = -``operand``: OpFNegate, or OpSNegate on integers of either signedness (KHR-ARI-01)."""

    result: Matrix
    operand: Matrix


@dataclass(frozen=True)
class MatrixArithmetic(Operation):
    """``result`` = ``left`` (operator) ``right``, element by element; all of one type (KHR-ARI-02, KHR-ARI-04).

    ``no_contraction``: with the decoration NoContraction.
    """

    result: Matrix
    operator: Operator
    left: Matrix
    right: Matrix
    no_contraction: bool = False


@dataclass(frozen=True)
class MatrixTimesScalar(Operation):
    """``result`` = ``matrix`` * ``scalar``, a scalar of the component type (KHR-ARI-05); ``no_contraction`` as for MatrixArithmetic."""

    result: Matrix
    matrix: Matrix
    scalar: ScalarValue
    no_contraction: bool = False
