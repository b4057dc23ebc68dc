"""Finds the judges of each requirement (drivers in published runs, the embedded device alone, validators alone, or none), and why."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from cts.journal.published import PublishedRun
from generators.casebook import Casebook, CaseKind
from generators.coverage import RequirementCoverage, Status

_NO_DRIVER = frozenset({"embedded", "spirv-val"})
"""Kinds of judges that show nothing about a driver. A published run that does not name its kind was judged by a driver."""


class Judge(enum.StrEnum):
    """The strongest judge that a requirement has. ``DEVICES`` are drivers."""

    DEVICES = "devices"
    EMBEDDED = "embedded"
    VALIDATORS = "validators"
    NOTHING = "nothing"


@dataclass(frozen=True)
class JudgedOn:
    """A published run, its judge, and how many of its cases exercise a requirement."""

    run: str
    device: str
    driver: str
    cases: int


@dataclass(frozen=True)
class Judged:
    """The judges of a requirement.

    Attributes:
        by: the strongest judge.
        on: the published runs that judged it: runs of drivers, or else of weaker judges.
        why: why no driver of a published run judged it; empty if one did, or if the reason is unknown.
    """

    by: Judge
    on: tuple[JudgedOn, ...]
    why: str

    def __str__(self) -> str:
        because = f": {self.why}" if self.why else ""
        match self.by:
            case Judge.DEVICES:
                devices: dict[str, int] = {}
                for one in self.on:
                    name = f"{one.device}, {one.driver}" if one.driver else one.device
                    devices[name] = max(devices.get(name, 0), one.cases)
                return "; ".join(f"{name} ({cases})" for name, cases in devices.items())
            case Judge.EMBEDDED:
                return f"the embedded device alone{because}"
            case Judge.VALIDATORS:
                return f"validators alone{because}"
            case Judge.NOTHING:
                return f"nothing{because}"


def judged(entry: RequirementCoverage, runs: Sequence[PublishedRun], casebook: Casebook) -> Judged:
    """Return the judges of a requirement."""
    id_ = entry.requirement.id
    drivers = [run for run in runs if run.kind not in _NO_DRIVER]
    if on := _judged_on(id_, drivers):
        return Judged(Judge.DEVICES, on, "")
    if entry.status is not Status.COVERED:
        return Judged(Judge.NOTHING, (), entry.reason or "no family covers it")
    weaker = _judged_on(id_, runs)
    kinds = {casebook.family(name).kind for name in entry.families}
    if kinds == {CaseKind.STATIC}:
        return Judged(Judge.VALIDATORS, weaker, "its cases are modules that a validator accepts or rejects")
    return Judged(Judge.EMBEDDED, weaker, _why(id_, drivers))


def _judged_on(id_: str, runs: Sequence[PublishedRun]) -> tuple[JudgedOn, ...]:
    """Return which of the runs judged a requirement."""
    return tuple(JudgedOn(run.name, run.device, run.driver, cases) for run in runs if (cases := run.cases.get(id_, 0)))


def _why(id_: str, runs: Sequence[PublishedRun]) -> str:
    """Return the features that the devices of runs lacked for most of the cases of a requirement."""
    lacking: Counter[str] = Counter()
    for run in runs:
        lacking.update(run.lacking.get(id_, {}))
    if not lacking:
        return "no published run has a case of it"
    reason, cases = lacking.most_common(1)[0]
    return f"for {cases} of {lacking.total()} cases of published runs {reason}"
