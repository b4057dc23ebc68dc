"""Which pages show what takes long to make: the first ones of each kind of failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from cts.verdict.verdict import CaseResult

LEADING = 3
"""Number of pages that show everything, for failures of one family with one code and the same defects. Such failures look alike, and the
other pages have the commands that show the rest."""


def leading(results: Iterable[CaseResult]) -> Iterator[CaseResult]:
    """Yield the first results of each kind of failure."""
    seen: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
    for result in results:
        kind = result.family, result.code, result.defects
        seen[kind] += 1
        if seen[kind] <= LEADING:
            yield result
