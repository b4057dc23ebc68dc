"""The base class of all operations of a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.errors import GeneratorError


@dataclass(frozen=True)
class Operation:
    """An operation: a frozen dataclass. The field ``result`` is the value that it computes. The values in other fields are its inputs,
    including the values in conditions and those that loops and branches pass on. Fields with operations are the code that runs inside it
    (generators.program.walking)."""


def no_entry(operation: Operation, table: str) -> GeneratorError:
    """Return the error for a reading whose ``table`` lacks the class of ``operation``."""
    return GeneratorError(f"{type(operation).__name__} has no entry in {table}: add one (CONTRIBUTING.md, 'A new instruction')")


Hint = Literal["none", "for", "against"]
"""Hint to a compiler: none; to unroll a loop, flatten a selection or inline a function; or not to do so. It changes no result."""
