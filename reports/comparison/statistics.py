"""Compares what drivers tell of compiled code: which statistics changed, in which families and cases, largest growth first.

The value of a case is the sum over the executables of its pipelines, because a driver may split a pipeline in another way. Whether a larger
value is worse depends on the statistic, so nothing here is a regression.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cts.journal.outline import Outline


@dataclass(frozen=True)
class Changed:
    """The value of a statistic in cases that have it in both runs and in which it changed: of all families, of one, or of one case.

    Attributes:
        family: empty for all families. ``id``: of the case; empty for several.
        cases: number of cases.
        before, after: sums of their values.
    """

    family: str
    id: str
    cases: int
    before: float
    after: float

    @property
    def growth(self) -> float:
        """The difference; negative if the value fell."""
        return self.after - self.before


@dataclass(frozen=True)
class ChangedStatistic:
    """A statistic that changed.

    Attributes:
        name: as the driver names it.
        grew: number of cases in which it grew.
        total: all cases in which it changed.
        families, cases: the same by family and by case, largest growth first.
    """

    name: str
    grew: int
    total: Changed
    families: tuple[Changed, ...]
    cases: tuple[Changed, ...]


@dataclass(frozen=True)
class CompiledCode:
    """A comparison of statistics.

    Attributes:
        compared: number of cases with statistics in both runs; ``differing``: number of them with another value.
        changed: the statistics that changed, in the driver's order.
    """

    compared: int = 0
    differing: int = 0
    changed: tuple[ChangedStatistic, ...] = ()


def grown(changes: Sequence[Changed], most: int) -> list[Changed]:
    """Return the first of the changes that are growth."""
    return [one for one in changes[:most] if one.growth > 0]


def compiled_code(before: Mapping[str, Outline], after: Mapping[str, Outline]) -> CompiledCode:
    """Compare the statistics of cases of two runs, given by id. Leave out hashes, whose values count nothing."""
    common = [(was, is_) for id_, was in before.items() if was.statistics and (is_ := after.get(id_)) and is_.statistics]
    found: defaultdict[str, list[Changed]] = defaultdict(list)
    differing = 0
    for was, is_ in common:
        old, new = _values(was), _values(is_)
        # The order of the driver counts, also for statistics that did not change in the first case.
        changes = {name: Changed(is_.family, is_.id, 1, old[name], new[name]) for name in old if name in new}
        for name, one in changes.items():
            found[name] += [one] if one.growth else []
        differing += any(one.growth for one in changes.values())
    return CompiledCode(len(common), differing, tuple(_statistic(name, cases) for name, cases in found.items() if cases))


def _values(outline: Outline) -> dict[str, float]:
    values: defaultdict[str, float] = defaultdict(float)
    for executable in outline.statistics.values():
        for name, value in executable.items():
            if "hash" not in name.casefold():
                values[name] += value
    return values


def _statistic(name: str, cases: list[Changed]) -> ChangedStatistic:
    members: defaultdict[str, list[Changed]] = defaultdict(list)
    for one in cases:
        members[one.family].append(one)
    families = (_sum(family, of_family) for family, of_family in members.items())
    return ChangedStatistic(name, sum(one.growth > 0 for one in cases), _sum("", cases), _most_grown(families), _most_grown(cases))


def _sum(family: str, cases: list[Changed]) -> Changed:
    return Changed(family, "", len(cases), sum(one.before for one in cases), sum(one.after for one in cases))


def _most_grown(changes: Iterable[Changed]) -> tuple[Changed, ...]:
    return tuple(sorted(changes, key=lambda one: (-one.growth, one.family, one.id)))
