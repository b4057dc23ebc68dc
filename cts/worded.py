"""Ids for programs with words for people."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Worded(StrEnum):
    """An id for programs, with words for people.

    Attributes:
        words: what the id means.
    """

    words: str

    def __new__(cls, id_: str, words: str) -> Self:
        """Make the member from its id and its meaning."""
        made = str.__new__(cls, id_)
        made._value_, made.words = id_, words
        return made
