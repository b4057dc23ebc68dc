"""Converts values from JSON to typed ones, and describes values that do not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from cts.printable import printable_line

T = TypeVar("T")

MOST_WORDS = 200
"""The most characters in the description of a value that does not fit."""

_AT = " - at "
"""The text that msgspec puts between a problem and its place."""


class WrongField(Exception):
    """A value does not fit the schema.

    Attributes:
        field: the place of the value, for example ``tries[0].seconds``; empty for the whole record.
        problem: what is wrong with the value.
    """

    def __init__(self, problem: str, field: str = "") -> None:
        super().__init__(problem, field)
        self.problem = problem
        self.field = field


def convert(value: object, kind: type[T], place: str = "") -> T:
    """Return a value of JSON as a value of a type.

    Args:
        value: a value from the parser.
        kind: a type that msgspec can convert to. Keys that the type does not have are ignored.
        place: where the value is in the record, for messages.

    Raises:
        WrongField: the value does not fit.
    """
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError as error:
        problem, _, at = str(error).partition(_AT)
        field = at.removeprefix("`key` in ").strip("`").removeprefix("$").removeprefix(".")
        joint = "." if place and field and not field.startswith("[") else ""
        raise WrongField(printable_line(problem[:MOST_WORDS]), f"{place}{joint}{field}") from None


def each(values: object, kind: Callable[[object, str], T], place: str) -> tuple[T, ...]:
    """Return the values that ``kind`` makes from the items of a JSON list and their places.

    Raises:
        WrongField: the value is not a list, or ``kind`` raises it.
    """
    return tuple(kind(value, f"{place}[{number}]") for number, value in enumerate(convert(values, list[object], place)))
