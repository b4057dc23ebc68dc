"""Compares runs with the first of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cts.verdict.verdict import ENDED_WELL, Verdict
from reports.comparison.changes import FAILING, GOOD, TITLES, TITLES_OF_DEVICES, ChangeKind, changes
from reports.comparison.groups import Group, groups
from reports.comparison.runs import COMPARED, ComparedRun
from reports.comparison.statistics import CompiledCode, compiled_code
from reports.comparison.times import Times, times
from reports.facts import FACTS

_OF_A_DEVICE = ("device", "front_end")
"""Facts that must be equal for a comparison of times."""


@dataclass(frozen=True)
class Difference:
    """A fact in which two runs differ. ``heading`` is for people."""

    key: str
    heading: str
    before: str
    after: str


@dataclass(frozen=True)
class Pair:
    """Two runs compared.

    Attributes:
        before, after: the runs.
        differences: facts that differ.
        compared: number of cases in both runs. ``same``: number of them with the same outcome.
        still_failing: number of cases that fail in both runs.
        groups: the changes, by cause.
        times: the slower cases.
        code: the changes of compiled code; empty for drivers of other names, whose statistics mean other things.
        quality: number of cases that passed before and are now a quality warning.
        exhausted: number of cases that passed before and now run out of memory.
    """

    before: ComparedRun
    after: ComparedRun
    differences: tuple[Difference, ...]
    compared: int
    same: int
    still_failing: int
    groups: tuple[Group, ...]
    times: Times
    code: CompiledCode
    quality: int
    exhausted: int

    @property
    def counts(self) -> dict[ChangeKind, int]:
        """Number of cases by kind of change, including 0."""
        counted: Counter[ChangeKind] = Counter()
        for group in self.groups:
            counted[group.kind] += len(group.changes)
        return {kind: counted[kind] for kind in ChangeKind}

    @property
    def causes(self) -> dict[ChangeKind, int]:
        """Groups by kind of change, including kinds without groups."""
        counted = Counter(group.kind for group in self.groups)
        return {kind: counted[kind] for kind in ChangeKind}

    @property
    def of_one_device(self) -> bool:
        """Tell whether device and front end are the same, so times can be compared and missing cases were lost."""
        return not any(one.key in _OF_A_DEVICE for one in self.differences)

    @property
    def of_one_driver(self) -> bool:
        """Tell whether the driver is also the same, in any version, so one run follows the other."""
        return self.of_one_device and not _is_other(self.differences)

    @property
    def titles(self) -> Mapping[ChangeKind, str]:
        """Return the titles of the kinds of changes."""
        return TITLES if self.of_one_driver else TITLES_OF_DEVICES

    @property
    def regressions(self) -> int:
        """Number of new failures; for one device and front end, plus the number of cases that lost support."""
        counts = self.counts
        return counts[ChangeKind.NEW_FAILURE] + (counts[ChangeKind.LOST] if self.of_one_device else 0)


def _is_other(differences: Sequence[Difference]) -> bool:
    """Tell whether the driver has another name, its first word; its version may differ."""
    return any(one.key == "driver" and one.before.split()[:1] != one.after.split()[:1] for one in differences)


def pairs(runs: Sequence[ComparedRun], common: bool = False) -> tuple[Pair, ...]:
    """Compare each run after the first with the first.

    Args:
        runs: two or more.
        common: whether to compare only cases that both have.
    """
    first, *others = runs
    return tuple(_pair(first, other, common) for other in others)


def _pair(before: ComparedRun, after: ComparedRun, common: bool) -> Pair:
    shared = before.cases.keys() & after.cases.keys()
    was, is_ = before.cases, after.cases
    if common:
        was, is_ = ({id_: one for id_, one in cases.items() if id_ in shared} for cases in (was, is_))
    unlike = tuple(_differences(before.facts, after.facts))
    suites = {run.facts["suite_version"] for run in (before, after)}
    found = changes(was, is_, same_inputs=len(suites) == 1 and "" not in suites)
    other = [one.heading.lower() for one in unlike if one.key in _OF_A_DEVICE]
    return Pair(
        before=before,
        after=after,
        differences=unlike,
        compared=len(shared),
        same=len(shared) - sum(change.before is not None and change.after is not None for change in found),
        still_failing=sum(was[id_].verdict in FAILING and is_[id_].verdict in FAILING for id_ in shared),
        groups=tuple(groups(found, was.values(), is_.values())),
        times=Times(f"they are of another {' and '.join(other)}") if other else times(was, is_),
        code=CompiledCode() if _is_other(unlike) else compiled_code(was, is_),
        quality=sum(
            change.after is not None
            and change.after.verdict is Verdict.QUALITY_WARNING
            and (change.before is None or change.before.verdict in ENDED_WELL or change.before.verdict not in GOOD)
            for change in found
        ),
        exhausted=sum(was[id_].verdict in GOOD and is_[id_].verdict is Verdict.RESOURCE_ERROR for id_ in shared),
    )


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[Difference]:
    return [
        Difference(key, FACTS[key], before[key] or "unknown", after[key] or "unknown")
        for key in COMPARED
        if before[key] != after[key] and key != "started"
    ]
