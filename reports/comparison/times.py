"""Finds the cases and families that became slower, by a rule that noise does not satisfy.

The time of a case in a step is compared with its time in the same step of the other run, as a ratio. Machines and their load differ: the
median of all ratios is the pace of the run, and each ratio is divided by it. The remaining ratio varies from case to case; its spread is
the median absolute deviation of its logarithm, as a standard deviation. A time below FLOOR counts as FLOOR, so the noise of short times
does not count.

* A case is slower if it took FACTOR times as long, SPREADS times the spread, and LOST_SECONDS longer.
* A family is slower if the median of at least FAMILY_CASES cases is FAMILY_FACTOR higher, and SPREADS standard errors of a median; if three
  of four cases are above the pace; and if all cases together took LOST_SECONDS longer.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median

from cts.journal.outline import Outline
from cts.verdict.verdict import ENDED_WELL, Verdict

STEPS = ("pipeline", "dispatch")
"""The steps that count as the driver's own time."""

FLOOR = 0.005
"""Seconds."""

FACTOR = 2.0
FAMILY_FACTOR = 1.3
SPREADS = 6.0
LOST_SECONDS = 0.5
FAMILY_CASES = 8
LEAST_CASES = 30
"""Fewer cases than this have no pace."""

_OF_A_NORMAL = 1.4826
"""Standard deviation of a normal distribution divided by its median absolute deviation."""
_OF_A_MEDIAN = 1.2533
"""Standard error of the median of a normal distribution divided by the standard error of its mean."""

_RAN = frozenset({*ENDED_WELL, Verdict.QUALITY_WARNING, Verdict.KNOWN_FAIL, Verdict.UNEXPECTED_PASS, Verdict.FAIL})


@dataclass(frozen=True)
class Slower:
    """A family or a case that took longer in a step.

    Attributes:
        family: name. ``id``: of the case; empty for a family.
        step: one of STEPS.
        cases: number of compared cases.
        before, after: seconds of all of them.
        ratio: factor by which it took longer, beyond the pace of the run; the median for a family.
    """

    family: str
    id: str
    step: str
    cases: int
    before: float
    after: float
    ratio: float


@dataclass(frozen=True)
class Times:
    """A comparison of the times of two runs.

    Attributes:
        why_not: why there is no comparison; empty if there is one.
        paces: step -> median ratio of the times of a case.
        families, cases: the slower ones, most seconds lost first.
    """

    why_not: str = ""
    paces: Mapping[str, float] = field(default_factory=dict)
    families: tuple[Slower, ...] = ()
    cases: tuple[Slower, ...] = ()

    @property
    def slower(self) -> int:
        """Number of slower families and cases."""
        return len(self.families) + len(self.cases)


def times(before: Mapping[str, Outline], after: Mapping[str, Outline]) -> Times:
    """Compare the times of the cases that both runs, given by id, have run."""
    paces: dict[str, float] = {}
    families: list[Slower] = []
    cases: list[Slower] = []
    common = [(was, is_) for id_, was in before.items() if (is_ := after.get(id_)) and was.verdict in _RAN and is_.verdict in _RAN]
    for step in STEPS:
        timed = [
            _Timed(is_.family, is_.id, max(was.steps[step], FLOOR), max(is_.steps[step], FLOOR))
            for was, is_ in common
            if step in was.steps and step in is_.steps
        ]
        long = [one for one in timed if max(one.before, one.after) > FLOOR]
        if len(long) < LEAST_CASES:
            continue
        level = median(one.log for one in long)
        spread = _OF_A_NORMAL * median(abs(one.log - level) for one in long)
        paces[step] = math.exp(level)
        slow = _slower_families(long, step, level, spread)
        families += slow
        explained = {one.family for one in slow}
        cases += [one for one in _slower_cases(long, step, level, spread) if one.family not in explained]
    if not paces:
        return Times(f"fewer than {LEAST_CASES} cases ran in both for {FLOOR * 1000:g} ms or longer")

    def most_lost(one: Slower) -> tuple[float, str, str]:
        return one.before * paces[one.step] - one.after, one.family, one.id

    return Times("", paces, tuple(sorted(families, key=most_lost)), tuple(sorted(cases, key=most_lost)))


@dataclass(frozen=True, slots=True)
class _Timed:
    """Seconds of a case in a step."""

    family: str
    id: str
    before: float
    after: float

    @property
    def log(self) -> float:
        return math.log(self.after / self.before)

    def lost(self, level: float) -> float:
        return self.after - self.before * math.exp(level)


def _slower_families(timed: list[_Timed], step: str, level: float, spread: float) -> list[Slower]:
    members: dict[str, list[_Timed]] = defaultdict(list)
    for one in timed:
        members[one.family].append(one)
    found = []
    for family, those in members.items():
        if len(those) < FAMILY_CASES:
            continue
        shift = median(one.log for one in those) - level
        needed = max(math.log(FAMILY_FACTOR), SPREADS * _OF_A_MEDIAN * spread / math.sqrt(len(those)))
        above = sum(one.log > level for one in those)
        if shift > needed and above >= 0.75 * len(those) and sum(one.lost(level) for one in those) > LOST_SECONDS:
            before, after = sum(one.before for one in those), sum(one.after for one in those)
            found.append(Slower(family, "", step, len(those), before, after, math.exp(shift)))
    return found


def _slower_cases(timed: list[_Timed], step: str, level: float, spread: float) -> list[Slower]:
    needed = max(math.log(FACTOR), SPREADS * spread)
    return [
        Slower(one.family, one.id, step, 1, one.before, one.after, math.exp(one.log - level))
        for one in timed
        if one.log - level > needed and one.lost(level) > LOST_SECONDS
    ]
