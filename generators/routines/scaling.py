"""A matrix times a scalar, in instructions that every reading of the text allows."""

from __future__ import annotations

from generators.program.builder import ProgramBuilder
from generators.program.construction import MatrixSplat
from generators.program.elementwise import MatrixArithmetic, MatrixTimesScalar
from generators.program.operation import Operation
from generators.program.values import Matrix, ScalarValue, Value


def scaling(result: Matrix, matrix: Matrix, scalar: ScalarValue, no_contraction: bool = False) -> tuple[Operation, ...]:
    """Return the operations that compute ``result`` = ``matrix`` * ``scalar``.

    A matrix of integers is multiplied by a matrix whose components are all ``scalar``, since OpMatrixTimesScalar may be for floats only
    (F-KHR-31).
    """
    if matrix.type.component.is_float:
        return (MatrixTimesScalar(result, matrix, scalar, no_contraction),)
    factor = Value(f"{result.name}_factor", matrix.type)
    return MatrixSplat(factor, scalar), MatrixArithmetic(result, "multiply", matrix, factor, no_contraction)


def scaled(builder: ProgramBuilder, name: str, matrix: Matrix, scalar: ScalarValue, no_contraction: bool = False) -> Matrix:
    """Compute ``matrix`` * ``scalar`` by ``scaling``."""
    result = Value(name, matrix.type)
    builder.extend(scaling(result, matrix, scalar, no_contraction))
    return result
