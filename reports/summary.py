"""Totals of a run: by verdict, family, requirement, missing feature and step."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from typing import TypeVar

from cts.verdict.codes import Code, is_within
from cts.verdict.verdict import CaseResult, Verdict
from reports.verdicts import BAD, COUNTED, EXPLAINED, SEVERITY, WORDING

COMPILING = "pipeline"
"""The step in which a driver compiles, by the name of a cts.devices.device.Step."""

SLOWEST = 20
"""Number of the slowest cases that a summary names."""

Amount = TypeVar("Amount", int, float)
Name = TypeVar("Name", str, tuple[str, str])

VerdictCounts = Mapping[Verdict, int]
"""Cases by verdict. Verdicts that did not occur are left out; the order is as in WORDING."""


@dataclass(frozen=True)
class StepTime:
    """Wall time spent in one step of judging. ``share`` is its part of the time of all cases, 0 to 1. Steps may be nested (``pipeline`` in
    ``device``), so shares do not add up to 1."""

    step: str
    seconds: float
    share: float


@dataclass(frozen=True)
class Missing:
    """A feature that a device lacks.

    Attributes:
        code: see cts.verdict.codes; empty in a journal of an older version of the suite.
        reason: the same for people.
        cases: number of cases that need it.
    """

    code: str
    reason: str
    cases: int


@dataclass(frozen=True)
class Known:
    """A known failure of the driver, and the number of cases that showed it (``known_fail``)."""

    id: str
    reason: str
    cases: int


@dataclass(frozen=True)
class SlowCase:
    """A case and its wall time."""

    id: str
    seconds: float
    verdict: Verdict


@dataclass(frozen=True)
class Summary:
    """The totals.

    Attributes:
        cases: cases judged. ``subcases``: dispatches that ran.
        verdicts: the verdicts of all cases.
        compile_timeouts: number of timeouts in pipeline creation, which is slow but breaks no rule.
        families: by family; ``requirements``: by requirement id; a case counts for each requirement that it covers. Both ordered by the
            worst verdict, then by name.
        elsewhere: family -> number of its cases for another kind of judge, such as static rules, which a validator judges.
        not_supported: missing features, most needed first.
        known: the known failures that occurred, most frequent first.
        defects: id of a defect that explains failing cases -> number of cases; most first. Cases of known failures do not count, and a case
            that several defects explain counts for each.
        policies: reason why verdicts depend on a policy of the suite -> number of verdicts; most first. Cases that were not run do not
            count.
        slowest: at most SLOWEST, slowest first.
        seconds: sum of the cases' wall times, of all processes.
        cases_per_second: cases that ran, per second of their own time; 0 if none ran. It is the rate of one process.
        steps: most time first.
    """

    cases: int
    subcases: int
    verdicts: VerdictCounts
    compile_timeouts: int
    families: Mapping[str, VerdictCounts]
    requirements: Mapping[str, VerdictCounts]
    elsewhere: Mapping[str, int]
    not_supported: tuple[Missing, ...]
    known: tuple[Known, ...]
    defects: Mapping[str, int]
    policies: Mapping[str, int]
    slowest: tuple[SlowCase, ...]
    seconds: float
    cases_per_second: float
    steps: tuple[StepTime, ...]

    @property
    def bad(self) -> int:
        """Number of cases whose verdict counts against the device."""
        return sum(self.verdicts.get(verdict, 0) for verdict in BAD) - self.compile_timeouts

    @property
    def numbers(self) -> dict[str, int]:
        """The numbers at the top of every report, listed separately, including 0."""
        counts = {str(verdict): self.verdicts.get(verdict, 0) for verdict in COUNTED}
        return counts | {"timeout": counts["timeout"] - self.compile_timeouts, "timeout_compiling": self.compile_timeouts}

    @property
    def judged_elsewhere(self) -> int:
        """Number of cases for another kind of judge, whatever the device supports. They also count as ``not_supported``."""
        return sum(self.elsewhere.values())

    @property
    def ran(self) -> int:
        """Number of cases that the device was asked to run."""
        return self.cases - self.verdicts.get(Verdict.NOT_SUPPORTED, 0)


def summarise(results: Iterable[CaseResult]) -> Summary:
    """Return the totals of results, which all belong to different cases."""
    results = list(results)
    verdicts: Counter[Verdict] = Counter()
    families: dict[str, Counter[Verdict]] = defaultdict(Counter)
    requirements: dict[str, Counter[Verdict]] = defaultdict(Counter)
    covered: Counter[tuple[tuple[str, ...], Verdict]] = Counter()
    elsewhere: Counter[str] = Counter()
    not_supported: Counter[tuple[str, str]] = Counter()
    known: Counter[tuple[str, str]] = Counter()
    defects: Counter[str] = Counter()
    policies: Counter[str] = Counter()
    steps: defaultdict[str, float] = defaultdict(float)
    seconds = ran_seconds = 0.0
    for result in results:
        verdict = result.verdict
        verdicts[verdict] += 1
        families[result.family][verdict] += 1
        covered[result.requirements, verdict] += 1
        seconds += result.seconds
        if verdict is Verdict.NOT_SUPPORTED:
            not_supported[result.code, result.reason or "no reason given"] += 1
            elsewhere[result.family] += is_within(result.code, Code.MISSING_JUDGE)
        else:
            if verdict is Verdict.KNOWN_FAIL:
                known[result.known, result.reason] += 1
            if verdict is Verdict.FAIL:
                defects.update(result.defects)
            ran_seconds += result.seconds
            if result.policy:
                policies[result.policy] += 1
        for step, time in result.steps.items():
            steps[step] += time
    for (ids, verdict), count in covered.items():
        for id_ in ids:
            requirements[id_][verdict] += count
    ran = len(results) - verdicts[Verdict.NOT_SUPPORTED]
    slowest = nsmallest(SLOWEST, results, key=lambda result: (-result.seconds, result.id))
    return Summary(
        cases=len(results),
        subcases=sum(result.subcases for result in results),
        verdicts=_tally(verdicts),
        compile_timeouts=sum(result.verdict is Verdict.TIMEOUT and result.step == COMPILING for result in results),
        families=_worst_first(families),
        requirements=_worst_first(requirements),
        elsewhere={family: cases for family, cases in sorted(elsewhere.items()) if cases},
        not_supported=tuple(Missing(*lack, cases) for lack, cases in _most_first(not_supported).items()),
        known=tuple(Known(*failure, cases) for failure, cases in _most_first(known).items()),
        defects=_most_first(defects),
        policies=_most_first(policies),
        slowest=tuple(SlowCase(result.id, result.seconds, result.verdict) for result in slowest if result.seconds > 0),
        seconds=seconds,
        cases_per_second=ran / ran_seconds if ran_seconds > 0 else 0.0,
        steps=tuple(StepTime(step, time, time / seconds if seconds > 0 else 0.0) for step, time in _most_first(steps).items()),
    )


def _tally(counts: Mapping[Verdict, int]) -> VerdictCounts:
    return {verdict: counts[verdict] for verdict in WORDING if counts.get(verdict)}


def _worst_first(tallies: Mapping[str, Mapping[Verdict, int]]) -> dict[str, VerdictCounts]:
    def place(name: str) -> tuple[int, str]:
        return min((SEVERITY[verdict] for verdict in tallies[name] if verdict in EXPLAINED), default=len(SEVERITY)), name

    return {name: _tally(tallies[name]) for name in sorted(tallies, key=place)}


def _most_first(counts: Mapping[Name, Amount]) -> dict[Name, Amount]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
