"""The class for forms of control_flow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from generators.chains.decisions import Decisions
from generators.chains.tiles import ChainWriter


@dataclass(frozen=True)
class Form:
    """A form of control flow.

    Attributes:
        write: writes the chain.
        largest: the largest n of a form that runs n times; None for other forms.
        compares: whether a relation decides.
        hinted: whether an instruction takes a hint.
    """

    write: Callable[[ChainWriter, Decisions], None]
    largest: int | None = None
    compares: bool = True
    hinted: bool = True
