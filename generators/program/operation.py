"""What all operations of a program have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.errors import GeneratorError, Rule


@dataclass(frozen=True)
class Operation:
    """An operation: a frozen dataclass. What it computes is its field ``result``; what it reads are values in its other fields, also inside
    of conditions and of what loops and branches hand on; what runs inside of it are fields of operations (generators.program.walking)."""


class NoEntry(GeneratorError):
    """A table of a reading lacks the class of an operation.

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
"""What the shader asks of a compiler: nothing, to unroll a loop (to flatten a selection, to inline a function), or not to. It changes no
result."""
