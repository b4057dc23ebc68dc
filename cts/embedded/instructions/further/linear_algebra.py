"""Products of vectors and OpTypeMatrix matrices, which are tuples of columns (SPIR-V 3.52.13)."""

from __future__ import annotations

import operator
from functools import reduce

from cts.embedded.diagnostics import need, needed
from cts.embedded.instructions.arithmetic.elementwise import on_values
from cts.embedded.instructions.registry import computes
from cts.embedded.machine.machine import Run
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.shapes import is_columns
from cts.embedded.types.spirv_types import Array, Type, Vector, type_text
from cts.embedded.types.values import Value
from generators.spirv.enumerants import Op


def _size(type_: Type) -> tuple[int, int]:
    """Return rows and columns of a matrix.

    Raises:
        Malformed: it is not one.
    """
    need(is_columns(type_), f"a {type_text(type_)} where a matrix is needed")
    assert isinstance(type_, Array)
    assert isinstance(type_.element, Vector)
    assert type_.length is not None
    return type_.element.count, type_.length


def _vector(type_: Type) -> int:
    return needed(type_, Vector, f"a {type_text(type_)} where a vector is needed").count


def _dot(one: Value, other: Value) -> Value:
    return reduce(operator.add, map(operator.mul, one, other))


def _combined(columns: Value, weights: Value) -> Value:
    """Return the weighted sum of the columns of a matrix."""
    return tuple(_dot(row, weights) for row in zip(*columns, strict=True))


@computes(Op.Transpose)
def _transpose(translation: Translation, words: Words) -> Run:
    rows, columns = _size(translation.type_of[words[2]])
    need(_size(translation.types[words[0]]) == (columns, rows), "the result does not have the rows and columns of the matrix swapped")
    return on_values(translation, words[2:], lambda matrix: tuple(zip(*matrix, strict=True)))


@computes(Op.MatrixTimesVector)
def _matrix_times_vector(translation: Translation, words: Words) -> Run:
    matrix, vector = words[2:]
    rows, columns = _size(translation.type_of[matrix])
    fits = _vector(translation.type_of[vector]) == columns and _vector(translation.types[words[0]]) == rows
    need(fits, "a matrix times a vector of the wrong size")
    return on_values(translation, words[2:], _combined)


@computes(Op.VectorTimesMatrix)
def _vector_times_matrix(translation: Translation, words: Words) -> Run:
    vector, matrix = words[2:]
    rows, columns = _size(translation.type_of[matrix])
    fits = _vector(translation.type_of[vector]) == rows and _vector(translation.types[words[0]]) == columns
    need(fits, "a vector times a matrix of the wrong size")
    return on_values(translation, words[2:], lambda weights, columns: tuple(_dot(weights, column) for column in columns))


@computes(Op.MatrixTimesMatrix)
def _matrix_times_matrix(translation: Translation, words: Words) -> Run:
    left, right = words[2:]
    (rows, inner), (other, columns) = _size(translation.type_of[left]), _size(translation.type_of[right])
    need(inner == other and _size(translation.types[words[0]]) == (rows, columns), "a product of matrices whose sizes do not fit")
    return on_values(translation, words[2:], lambda columns, others: tuple(_combined(columns, other) for other in others))


@computes(Op.OuterProduct)
def _outer_product(translation: Translation, words: Words) -> Run:
    size = _vector(translation.type_of[words[2]]), _vector(translation.type_of[words[3]])
    need(_size(translation.types[words[0]]) == size, "an outer product of the wrong size")
    return on_values(translation, words[2:], lambda column, row: tuple(tuple(x * y for x in column) for y in row))
