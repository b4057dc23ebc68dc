"""Suggests names that a user may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

FAMILIES = "cts list --count"
"""The command that lists the families."""
_NEAR = 3
"""The most near names that are suggested."""
_FEW = 30
"""The most known names that a message lists if a command can list them instead."""


def suggestion(name: str, known: Iterable[str], lister: str = "") -> str:
    """Return a clause for the end of a message: it names the known names nearest to ``name``, or else says what is expected.

    Args:
        name: the unknown name. Letter case does not matter.
        known: the known names.
        lister: the command that lists them, if there may be many.
    """
    names = {one.lower(): one for one in known}
    near = get_close_matches(name.lower(), names, _NEAR, 0.5)
    if near:
        return f"did you mean {' or '.join(names[one] for one in near)}?"
    if len(names) <= _FEW or not lister:
        return f"expected one of {', '.join(names.values()) or '(none yet)'}"
    return f"'{lister}' lists all {len(names)}"
