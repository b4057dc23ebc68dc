"""The base class of all operations of a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Operation:
    """An operation: a frozen dataclass. The field ``result`` is the value that it computes. The values in other fields are its inputs,
    including the values in conditions and the values that loops and branches pass on. Fields with operations are the code that runs inside
    it (generators.program.walking)."""


@dataclass(frozen=True)
class Effect(Operation):
    """States the effect of code on whole arrays and matrices. The reference model performs it; no emitter knows it."""


Hint = Literal["none", "for", "against"]
"""Hint to a compiler: none; to unroll a loop, flatten a selection or inline a function; or not to do so. It changes no result."""
