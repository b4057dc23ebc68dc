"""Checks operands that must be constants."""

from __future__ import annotations

from cts.embedded.diagnostics import need
from cts.embedded.shapes import TypeKind, kind_of
from cts.embedded.translation import Translation


def constant_integer(translation: Translation, id_: int, what: str) -> int:
    """Return the value of an integer constant.

    Raises:
        Malformed: the operand is not an integer constant; the message has ``what``.
    """
    value = translation.constant(id_)
    need(kind_of(translation.type_of[id_]) is TypeKind.INT and value.__class__ is int, f"{what} is not a constant integer")
    return int(value)
