"""Ids for programs with words for people."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Worded(StrEnum):
    """An id for programs, with words for people.

    Attributes:
        words: what the id means.
        name_after: what may follow the id; empty if nothing does.
    """

    words: str
    name_after: str

    def __new__(cls, id_: str, words: str, name_after: str = "") -> Self:
        """Make the member from its id, its meaning, and what may follow it."""
        made = str.__new__(cls, id_)
        made._value_, made.words, made.name_after = id_, words, name_after
        return made

    def of(self, name: object | None = None) -> str:
        """Return the id as plain text, followed by the name, if there is one."""
        return f"{self.value}.{name}" if name else self.value
