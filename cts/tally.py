"""Counts of verdicts, as a run goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from cts.verdict import CaseResult, Verdict

PASSING = frozenset({Verdict.PASS, Verdict.EXPECTED_FAIL, Verdict.UNEXPECTED_PASS, Verdict.NOT_SUPPORTED})
"""Verdicts that do not make a run fail. An unexpected pass speaks for the device, and against what the suite knows of it."""


@dataclass(frozen=True)
class Digest:
    """What a count needs of a result; small enough to send from every worker for every case.

    Attributes:
        seconds: of the case, but for opening the device, which is no part of any case; ``device``, of the device; ``pipeline``, of
            pipeline creation, where the device tells.
    """

    family: str
    verdict: Verdict
    reason: str
    seconds: float
    device: float = 0.0
    pipeline: float = 0.0

    @classmethod
    def of(cls, result: CaseResult) -> Self:
        """Of a result."""
        return cls._of(result.family, result.verdict, result.reason, result.seconds, result.steps)

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Self:
        """Of a line of the journal."""
        steps = record.get("steps") or {}
        return cls._of(record.get("family", ""), Verdict(record["verdict"]), record.get("reason", ""), record.get("seconds", 0.0), steps)

    @classmethod
    def by_id(cls, records: Iterable[Mapping[str, Any]]) -> dict[str, Self]:
        """Of each case in a journal; without those of whose line no result can be read."""
        found = {}
        for record in records:
            with suppress(ValueError, TypeError, AttributeError):
                found[record["id"]] = cls.of_record(record)
        return found

    @classmethod
    def _of(cls, family: str, verdict: Verdict, reason: str, seconds: float, steps: Mapping[str, float]) -> Self:
        opening = steps.get("open", 0.0)
        device = steps.get("missing", 0.0) + steps.get("device", 0.0) - opening
        return cls(family, verdict, reason, seconds - opening, device, steps.get("pipeline", 0.0))

    def wire(self) -> list[Any]:
        """As plain values, for another process."""
        return [self.family, self.verdict.value, self.reason, self.seconds, self.device, self.pipeline]

    @classmethod
    def unwire(cls, values: list[Any]) -> Self:
        """The inverse of ``wire``."""
        family, verdict, reason, seconds, device, pipeline = values
        return cls(family, Verdict(verdict), reason, seconds, device, pipeline)


@dataclass
class Tally:
    """Sums over results."""

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    families: dict[str, Counter[Verdict]] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    expectations: Counter[tuple[Verdict, str]] = field(default_factory=Counter)
    seconds: float = 0.0
    device: float = 0.0
    pipeline: float = 0.0

    def add(self, digest: Digest) -> None:
        """Counts one result."""
        self.verdicts[digest.verdict] += 1
        self.families.setdefault(digest.family, Counter())[digest.verdict] += 1
        if digest.verdict is Verdict.NOT_SUPPORTED:
            self.reasons[digest.reason] += 1
        if digest.verdict in (Verdict.EXPECTED_FAIL, Verdict.UNEXPECTED_PASS):
            self.expectations[digest.verdict, digest.reason] += 1
        self.seconds += digest.seconds
        self.device += digest.device
        self.pipeline += digest.pipeline

    @property
    def total(self) -> int:
        """Cases counted."""
        return self.verdicts.total()

    @property
    def bad(self) -> int:
        """Cases that make the run fail."""
        return sum(count for verdict, count in self.verdicts.items() if verdict not in PASSING)

    def phrase(self) -> str:
        """For example ``"120 pass, 3 fail, 8 not_supported"``; ``"none"`` if nothing was counted."""
        return phrase(self.verdicts)


def phrase(verdicts: Mapping[Verdict, int]) -> str:
    """The counts that are not zero, in the order of Verdict."""
    return ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in Verdict if verdicts.get(verdict)) or "none"
