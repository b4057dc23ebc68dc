"""Slices of tensors that a whole matrix fills."""

from __future__ import annotations


def matrix_spans(rows: int, columns: int, rank: int) -> tuple[int, ...]:
    """Return the spans of a slice with ``rank`` dimensions, 1 to 5, and as many elements as a matrix of this shape.

    Neighbouring spans differ where they can. With 5 dimensions the number of rows must be a multiple of 4.
    """
    match rank:
        case 1:
            return (rows * columns,)
        case 2:
            return rows, columns
        case 3:
            return 2, rows // 2, columns
        case 4:
            return 2, rows // 2, columns // 2, 2
        case _:
            return 2, rows // 4, 2, columns // 2, 2


def long_spans(rows: int, columns: int, rank: int) -> tuple[int, ...]:
    """Return the spans of such a slice with a whole line of the matrix in the last dimension.

    With 3 dimensions the number of rows must be a multiple of 2, with 4 of 4, and with 5 of 8.
    """
    match rank:
        case 4:
            return 2, rows // 4, 2, columns
        case 5:
            return 2, 2, rows // 8, 2, columns
        case _:
            return matrix_spans(rows, columns, rank)
