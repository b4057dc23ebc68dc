"""What all operations of a program have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.errors import GeneratorError


@dataclass(frozen=True)
class Operation:
    """An operation: a frozen dataclass. What it computes is its field ``result``; what it reads are values in its other fields, also inside
    of conditions and of what loops and branches hand on; what runs inside of it are fields of operations (generators.program.walking)."""


def no_entry(operation: Operation, table: str) -> GeneratorError:
    """Return the error of a reading whose ``table`` lacks the class of ``operation``."""
    return GeneratorError(f"{type(operation).__name__} has no entry in {table}: add one (CONTRIBUTING.md, 'A new instruction')")


Hint = Literal["none", "for", "against"]
"""What the shader asks of a compiler: nothing, to unroll a loop (to flatten a selection, to inline a function), or not to. It changes no
result."""
