"""The base class of all operations of a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.errors import GeneratorError, Rule


@dataclass(frozen=True)
class Operation:
    """An operation: a frozen dataclass. The field ``result`` is the value that it computes. The values in other fields are its inputs,
    including the values in conditions and the values that loops and branches pass on. Fields with operations are the code that runs inside
    it (generators.program.walking)."""


class NoEntry(GeneratorError):
    """The table of a reading lacks the class of an operation.

    Attributes:
        operation: the name of the class.
        table: its name, and the file that has it.
    """

    def __init__(self, operation: Operation, table: str) -> None:
        name = type(operation).__name__
        super().__init__(Rule.NO_ENTRY, f"{name} has no entry in {table}: add one (CONTRIBUTING.md, 'A new instruction')")
        self.operation = name
        self.table = table


Hint = Literal["none", "for", "against"]
"""Hint to a compiler: none; to unroll a loop, flatten a selection or inline a function; or not to do so. It changes no result."""
