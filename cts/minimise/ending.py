"""Endings of cases, and their comparison."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cts.verdict.failure import Match
from cts.verdict.verdict import CaseResult, Verdict

BAD = frozenset({Verdict.FAIL, Verdict.QUALITY_WARNING, Verdict.CRASH, Verdict.TIMEOUT, Verdict.DEVICE_LOST, Verdict.RESOURCE_ERROR})
"""Verdicts for which a smaller case is sought."""


@dataclass(frozen=True)
class Ending:
    """How a case ended.

    Attributes:
        code: the code of the result; the verdict if it has none.
        defects: ids of the defects that the diagnosis names, in any part of the failure.
    """

    verdict: Verdict
    code: str
    defects: frozenset[str] = frozenset()

    def is_like(self, other: Ending) -> bool:
        """Tell whether ``other`` has the same verdict and code, and either both share a defect or neither has one."""
        if (self.verdict, self.code) != (other.verdict, other.code):
            return False
        return bool(self.defects & other.defects) or not (self.defects or other.defects)

    def __str__(self) -> str:
        code = self.code or self.verdict.value
        return f"{code} ({', '.join(sorted(self.defects))})" if self.defects else code


def named(matches: Iterable[Match]) -> frozenset[str]:
    """Return the ids of the defects that matches name."""
    return frozenset(match.id for match in matches if match.id)


def ending_of(result: CaseResult) -> Ending:
    """Return how a judged case ended."""
    matches = [match for failure in result.failures for match in failure.matches]
    return Ending(result.verdict, result.code or result.verdict.value, named(matches))
