"""What requirements and positions say, for messages about elements that break them."""

from __future__ import annotations

from cts.verdict.failure import Mismatch
from generators.casebook import Case


def quoted(mismatch: Mismatch, case: Case) -> tuple[str, ...]:
    """Return the requirement that the expectation of some elements rests on, with its place, and the position, with its reason.

    Args:
        mismatch: those elements.
        case: what they are of; its casebook has the texts. An id that the casebook does not have stands alone.
    """
    statements = case.definition.statements
    lines = []
    if mismatch.requirement:
        known = statements.requirements.get(mismatch.requirement)
        said = f': "{known.text}" ({known.specification}, {known.place})' if known else ""
        lines.append(f"{mismatch.requirement}{said}")
    if mismatch.position:
        held = statements.positions.get(mismatch.position)
        lines.append(f"{mismatch.position}, a position of this suite" + (f": {held.words}" if held else ""))
    return tuple(lines)
