"""Suggests names that a user may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

MOST = 3
"""Names that are suggested."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a clause for the end of a message: it names the known names nearest to ``name``, or says how many there are."""
    names = sorted(known)
    near = get_close_matches(name, names, MOST, 0.5)
    return f"did you mean {' or '.join(near)}?" if near else f"'cts list --count' names the {len(names)} families"
