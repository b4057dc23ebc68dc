"""Which pages show what takes long to make: the first ones of each kind of failure."""

from __future__ import annotations

from collections import Counter

from cts.verdict.verdict import CaseResult

LEADING = 3
"""Number of pages that show everything, for failures of one family with one code and the same defects. Such failures look alike, and the
other pages have the commands that show the rest."""


class Leading:
    """Counts the pages of each kind of failure."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str, str, tuple[str, ...]]] = Counter()

    def takes(self, result: CaseResult) -> bool:
        """Count a page, and tell whether it is one of the first of its kind."""
        kind = result.family, result.code, result.defects
        self._seen[kind] += 1
        return self._seen[kind] <= LEADING
