"""The matrix types of a property row."""

from __future__ import annotations

from generators.program.values import MatrixType
from generators.property_rows import PropertyRow
from generators.types import Scope, Use


def row_type(row: PropertyRow, operand: str, scope: Scope) -> MatrixType:
    """Return the type of operand ``a``, ``b`` or ``c`` of a row's multiply-add, or of its result ``d``."""
    match operand:
        case "a":
            return MatrixType(row.a, scope, row.m, row.k, Use.A)
        case "b":
            return MatrixType(row.b, scope, row.k, row.n, Use.B)
        case _:
            return MatrixType(row.c if operand == "c" else row.result, scope, row.m, row.n, Use.ACCUMULATOR)
