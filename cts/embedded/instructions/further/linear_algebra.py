"""Products of vectors and OpTypeMatrix matrices, which are tuples of columns (SPIR-V 3.52.13)."""

from __future__ import annotations

from cts.embedded.diagnostics import need
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
    need(isinstance(type_, Vector), f"a {type_text(type_)} where a vector is needed")
    assert isinstance(type_, Vector)
    return type_.count


def _sum(products: list[Value]) -> Value:
    total = products[0]
    for product in products[1:]:
        total = total + product
    return total


def _combined(columns: Value, weights: Value) -> Value:
    """Return the weighted sum of the columns of a matrix."""
    return tuple(_sum([column[row] * weight for column, weight in zip(columns, weights, strict=True)]) for row in range(len(columns[0])))


@computes(Op.Transpose)
def _transpose(translation: Translation, words: Words) -> Run:
    values, operand = translation.values, words[2]
    rows, columns = _size(translation.type_of[operand])
    need(_size(translation.types[words[0]]) == (columns, rows), "the result does not have the rows and columns of the matrix swapped")
    return lambda: tuple(zip(*values[operand], strict=True))


@computes(Op.MatrixTimesVector)
def _matrix_times_vector(translation: Translation, words: Words) -> Run:
    values, matrix, vector = translation.values, words[2], words[3]
    rows, columns = _size(translation.type_of[matrix])
    fits = _vector(translation.type_of[vector]) == columns and _vector(translation.types[words[0]]) == rows
    need(fits, "a matrix times a vector of the wrong size")
    return lambda: _combined(values[matrix], values[vector])


@computes(Op.VectorTimesMatrix)
def _vector_times_matrix(translation: Translation, words: Words) -> Run:
    values, vector, matrix = translation.values, words[2], words[3]
    rows, columns = _size(translation.type_of[matrix])
    fits = _vector(translation.type_of[vector]) == rows and _vector(translation.types[words[0]]) == columns
    need(fits, "a vector times a matrix of the wrong size")
    return lambda: tuple(_sum([x * y for x, y in zip(values[vector], column, strict=True)]) for column in values[matrix])


@computes(Op.MatrixTimesMatrix)
def _matrix_times_matrix(translation: Translation, words: Words) -> Run:
    values, left, right = translation.values, words[2], words[3]
    (rows, inner), (other, columns) = _size(translation.type_of[left]), _size(translation.type_of[right])
    need(inner == other and _size(translation.types[words[0]]) == (rows, columns), "a product of matrices whose sizes do not fit")
    return lambda: tuple(_combined(values[left], column) for column in values[right])


@computes(Op.OuterProduct)
def _outer_product(translation: Translation, words: Words) -> Run:
    values, column, row = translation.values, words[2], words[3]
    size = _vector(translation.type_of[column]), _vector(translation.type_of[row])
    need(_size(translation.types[words[0]]) == size, "an outer product of the wrong size")
    return lambda: tuple(tuple(x * y for x in values[column]) for y in values[row])
