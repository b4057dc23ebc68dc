"""The texts of requirements and positions, for messages."""

from __future__ import annotations

from collections.abc import Sequence

from cts.verdict.failure import Mismatch
from generators.casebook import Case


def quoted(requirement: str, positions: Sequence[str], case: Case) -> tuple[str, ...]:
    """Return the text and place of a requirement, and the texts of positions, one line each.

    Args:
        requirement: its id; empty for none.
        positions: their ids.
        case: the case whose casebook has the texts. An id that is not in the casebook is shown without a text.
    """
    statements = case.definition.statements
    lines = []
    if requirement:
        known = statements.requirements.get(requirement)
        said = f': "{known.text}" ({known.specification}, {known.place})' if known else ""
        lines.append(f"{requirement}{said}")
    for position in positions:
        held = statements.positions.get(position)
        lines.append(f"{position}, a position of this suite" + (f": {held.words}" if held else ""))
    return tuple(lines)


def binding(mismatch: Mismatch, case: Case) -> tuple[str, ...]:
    """Return the requirement and the position on which the expectation of some elements depends, as ``quoted`` does."""
    return quoted(mismatch.requirement, [mismatch.position] if mismatch.position else [], case)
