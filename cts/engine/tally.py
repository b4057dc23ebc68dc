"""Counts of verdicts, as a run goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from cts.devices.device import Step
from cts.verdict.codes import Code, Reason
from cts.verdict.verdict import ENDED_WELL, CaseResult, Verdict

PASSING = ENDED_WELL | {Verdict.QUALITY_WARNING, Verdict.KNOWN_FAIL, Verdict.NOT_SUPPORTED, Verdict.RESOURCE_ERROR}
"""Verdicts that do not make a run fail, except a quality warning with ``--fail-on-quality``. A device that is out of memory shows nothing
about its conformance."""

STRICTLY_PASSING = PASSING - {Verdict.QUALITY_WARNING}
"""The same with ``--fail-on-quality``."""


@dataclass(frozen=True)
class Digest:
    """The parts of a result that a count needs; small enough to send from every worker for every case.

    Attributes:
        seconds: the seconds of the case, without the time to open the device, which belongs to no case. ``device`` is the device's part of
            them, and ``pipeline`` is the time to make pipelines, if the device reports it.
        step, attempt, code, known, subcases: see CaseResult.
    """

    family: str
    verdict: Verdict
    reason: str
    seconds: float
    device: float = 0.0
    pipeline: float = 0.0
    step: str = ""
    attempt: int = 1
    code: str = ""
    known: str = ""
    defects: tuple[str, ...] = ()
    """The explanations of a failing case, by id."""
    subcases: int = 0

    @classmethod
    def of(cls, result: CaseResult) -> Self:
        """Build from a result."""
        steps = result.steps
        opening = steps.get("open", 0.0)
        device = steps.get("missing", 0.0) + steps.get("device", 0.0) - opening
        return cls(
            result.family,
            result.verdict,
            result.reason,
            result.seconds - opening,
            device,
            steps.get("pipeline", 0.0),
            result.step,
            result.attempt,
            result.code,
            result.known,
            result.defects,
            result.subcases,
        )

    @classmethod
    def by_attempt(cls, results: Iterable[CaseResult]) -> dict[tuple[str, int], Self]:
        """Return the digest of each case and attempt; if results have several for one attempt, the last counts."""
        return {(result.id, result.attempt): cls.of(result) for result in results}


@dataclass
class Tally:
    """Sums over results."""

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    families: dict[str, Counter[Verdict]] = field(default_factory=dict)
    missing: Counter[Reason] = field(default_factory=Counter)
    known: Counter[tuple[Verdict, str]] = field(default_factory=Counter)
    """Cases by verdict and id of the known failure."""
    quality: Counter[str] = field(default_factory=Counter)
    """Quality warnings by id of the position that expects something else."""
    otherwise: Counter[str] = field(default_factory=Counter)
    """Compiled cases whose code does something else than a twin's, by the parameter in which the two differ."""
    defects: Counter[str] = field(default_factory=Counter)
    """Failing cases by the defect that explains them. If several defects explain a case, it counts for each."""
    compiling: int = 0
    """Timeouts while a pipeline was made, which break no rule."""
    dispatches: int = 0
    seconds: float = 0.0
    device: float = 0.0
    pipeline: float = 0.0

    def add(self, digest: Digest) -> None:
        """Count one result."""
        self.verdicts[digest.verdict] += 1
        self.families.setdefault(digest.family, Counter())[digest.verdict] += 1
        if digest.verdict is Verdict.NOT_SUPPORTED:
            self.missing[Reason(digest.code, digest.reason)] += 1
        if digest.verdict in (Verdict.KNOWN_FAIL, Verdict.UNEXPECTED_PASS):
            self.known[digest.verdict, digest.known] += 1
        if digest.verdict is Verdict.QUALITY_WARNING:
            self.quality[digest.code.removeprefix(Code.QUALITY_WARNING).removeprefix(".")] += 1
        if digest.verdict is Verdict.COMPILED and digest.code:
            self.otherwise[digest.code.removeprefix(f"{Code.COMPILED_OTHERWISE}.")] += 1
        if digest.verdict is Verdict.FAIL:
            self.defects.update(digest.defects)
        if digest.verdict is Verdict.TIMEOUT and digest.step == Step.PIPELINE:
            self.compiling += 1
        self.dispatches += digest.subcases
        self.seconds += digest.seconds
        self.device += digest.device
        self.pipeline += digest.pipeline

    @property
    def total(self) -> int:
        """Cases counted."""
        return self.verdicts.total()

    @property
    def tested(self) -> int:
        """Number of cases that show something about the device: it supports them and has memory for them."""
        return self.total - self.verdicts[Verdict.NOT_SUPPORTED] - self.verdicts[Verdict.RESOURCE_ERROR]

    def bad(self, passing: Collection[Verdict] = PASSING) -> int:
        """Count the cases that make the run fail: those whose verdict is not in ``passing``."""
        return sum(count for verdict, count in self.verdicts.items() if verdict not in passing)

    def phrase(self) -> str:
        """Describe the counts, for example ``"120 pass, 3 fail, 8 not_supported"``; ``"none"`` if nothing was counted."""
        return phrase(self.verdicts)


def phrase(verdicts: Mapping[Verdict, int]) -> str:
    """Return the counts that are not zero, in the order of Verdict."""
    return ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in Verdict if verdicts.get(verdict)) or "none"
