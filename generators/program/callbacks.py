"""Instructions that call a function for elements: OpCooperativeMatrixReduceNV and OpCooperativeMatrixPerElementOpNV
(SPV_NV_cooperative_matrix2, 3.49.13 and 3.49.9)."""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.functions import Function
from generators.program.operation import Operation, Part
from generators.program.values import Matrix, ScalarValue
from generators.types import ReduceMode


@dataclass(frozen=True)
class Reduce(Operation):
    """Every element of ``result`` combines a row, a column, the whole or an aligned 2x2 neighbourhood of ``matrix`` by ``function``, which
    is commutative and associative on the data."""

    result: Matrix
    matrix: Matrix
    mode: ReduceMode
    function: Function


@dataclass(frozen=True)
class VectorOperand(Part):
    """An extra operand that is a vector of the scalars."""

    parts: tuple[ScalarValue, ...]


@dataclass(frozen=True)
class StructOperand(Part):
    """An extra operand that is a struct of the scalars."""

    parts: tuple[ScalarValue, ...]


ExtraOperand = ScalarValue | VectorOperand | StructOperand | Matrix
"""A matrix has the type of the instruction's matrix, and the function gets its element at the same position (CM2-PE-05)."""


@dataclass(frozen=True)
class PerElement(Operation):
    """Every element of ``result`` is ``function`` of its row, its column, the corresponding element of ``matrix``, and ``extra``
    (CM2-PE-03 to CM2-PE-06)."""

    result: Matrix
    matrix: Matrix
    function: Function
    extra: tuple[ExtraOperand, ...] = ()
