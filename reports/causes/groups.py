"""Groups failures by explanation: across families by as few explanations as possible, in a family by the deciding box.

1. A known failure, the position behind a quality warning, and a defect that the diagnosis names are explanations in every family. If
several defects explain a failure, the smallest set that explains all failures is used (reports.causes.explanations). 2. Failures without an
explanation are grouped by family and code. A code is not an explanation, so each box of such a group is a group of its own. 3. Groups of
one family are merged if one box decides both. Unexplained groups of two families with the same code are merged if one box over their common
parameters decides both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cts.journal.outline import Outline
from cts.verdict.verdict import ENDED_WELL, CaseResult, Verdict
from reports.causes.boxes import Box, Inside
from reports.causes.explanations import explained
from reports.causes.search import ROWS, TELLING, boxes
from reports.causes.table import Table
from reports.verdicts import BAD

FAILING = frozenset(BAD)
PASSING = ENDED_WELL | {Verdict.UNEXPECTED_PASS}

Judged = CaseResult | Outline
"""A case with what a search for causes needs: id, family, verdict, code, known failure, defects and parameters."""

WORK = 45_000
"""Budget of the searches in one report: the number of cases looked at, plus OVERHEAD for each search. The groups with the most cases come
first; groups without remaining budget have no box."""

OVERHEAD = 500
"""The fixed cost of a search, as the number of cases that could be looked at in the same time."""


@dataclass(frozen=True)
class Group:
    """Cases with one explanation.

    Attributes:
        explanation: id of a known failure, a position's code or a defect; empty if only the box is known.
        cases: indices among the results.
        inside: the deciding boxes, by family.
        outside: number of cases in none of them.
    """

    explanation: str
    cases: tuple[int, ...]
    inside: tuple[Inside, ...] = ()
    outside: int = 0


@dataclass
class Searcher:
    """Finds boxes in the cases of a run.

    Attributes:
        results: the run's results, ordered by id. Cases that did not run, and cases without parameters, are in no box.
        work: the rest of WORK.
    """

    results: Sequence[Judged]
    work: int = WORK
    _places: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    _tables: dict[tuple[str, ...], tuple[np.ndarray, Table]] = field(default_factory=dict)
    _within: dict[tuple[str, Box], set[int]] = field(default_factory=dict)
    _passing: np.ndarray = field(init=False)
    _warned: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self._passing = np.array([one.verdict in PASSING for one in self.results], bool)
        self._warned = np.array([one.verdict is Verdict.QUALITY_WARNING for one in self.results], bool)
        for place, one in enumerate(self.results):
            if one.parameters and one.verdict is not Verdict.NOT_SUPPORTED:
                self._places[one.family].append(place)

    def families(self, cases: Iterable[int]) -> dict[str, list[int]]:
        """Return cases by family; the family with the most first."""
        found = defaultdict(list)
        for place in cases:
            found[self.results[place].family].append(place)
        return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))

    def inside(self, cases: Sequence[int]) -> tuple[Inside, ...]:
        """Return the boxes that decide which cases belong to the group, by family."""
        by_family = self.families(cases)
        found = [inside for family in by_family for inside in self.search((family,), by_family[family])]
        if len(by_family) > 1 and any(one.tentative for one in found):
            return self.joint(tuple(by_family), cases, found) or tuple(found)
        return tuple(found)

    def joint(self, families: tuple[str, ...], cases: Sequence[int], apart: Sequence[Inside]) -> tuple[Inside, ...]:
        """Return one box over the common parameters of several families that decides in each of them. Return nothing if no such box
        contains all of the cases with no more passes than the boxes of the single families, or if those have better support.

        Args:
            families: the families of the cases.
            cases: at least TELLING, otherwise there is no box.
            apart: boxes of single families.
        """
        found = self.search(families, cases) if len(cases) >= TELLING else ()
        if len({one.box for one in found}) != 1 or not found[0].box or sum(one.failing for one in found) < len(cases):
            return ()
        if found[0].tentative and not all(one.tentative for one in apart):
            return ()
        return found if sum(one.passing for one in found) <= sum(one.passing for one in apart) else ()

    def search(self, families: tuple[str, ...], cases: Sequence[int]) -> tuple[Inside, ...]:
        """Return the boxes over the parameters that families have in common, counted in each of them."""
        if self.work <= 0:
            return ()
        places, table = self._table(families)
        masks = self._masks(places, cases)
        if not masks[0].any():
            return ()
        self.work -= OVERHEAD + sum(min(ROWS, int(mask.sum())) for mask in masks)
        return tuple(
            inside
            for found in boxes(table, *masks)
            for family in families
            if (inside := self._counted(family, families, found.box, cases, found.tentative)) is not None
        )

    def has(self, family: str, box: Box) -> set[int]:
        """Return the cases of a family in a box that a search has found."""
        return self._within[family, box]

    def outside(self, cases: Sequence[int], inside: Sequence[Inside]) -> int:
        """Return the number of cases in none of the given boxes."""
        return len(set(cases).difference(*(self.has(one.family, one.box) for one in inside)))

    def _counted(self, family: str, families: tuple[str, ...], box: Box, cases: Sequence[int], tentative: bool) -> Inside | None:
        places, table = self._table(families)
        first = sum(len(self._places[one]) for one in families[: families.index(family)])
        within = np.zeros(len(places), bool)
        within[first : first + len(self._places[family])] = True
        within &= table.inside(box)
        self._within[family, box] = set(places[within].tolist())
        failing = _among(places, cases)
        passing = self._passing[places] & ~failing
        failed, passed, rest = (int((within & mask).sum()) for mask in (failing, passing, ~failing & ~passing))
        return Inside(family, box, failed, passed, rest, tentative) if failed else None

    def _masks(self, places: np.ndarray, cases: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return three masks of the cases: those to find, those that count against a box that contains them, and the rest.

        A quality warning is not a failure, so it counts against boxes of failures, unless a defect of the cause also explains it. A failure
        does not count against boxes of quality warnings, since it does not show whether permitted values occurred.
        """
        target = _among(places, cases)
        against = self._passing[places]
        if not any(self._warned[place] for place in cases):
            defects = {id_ for place in cases for id_ in self.results[place].defects}
            of_others = [place for place in places[self._warned[places]] if defects.isdisjoint(self.results[place].defects)]
            against = against | _among(places, of_others)
        return target, against & ~target, ~target & ~against

    def _table(self, families: tuple[str, ...]) -> tuple[np.ndarray, Table]:
        if families not in self._tables:
            places = np.array([place for family in families for place in self._places[family]], int)
            of_families = [{name for place in self._places[family] for name in self.results[place].parameters} for family in families]
            common = set.intersection(*of_families)
            parameters = [self.results[place].parameters for place in places]
            if len(families) > 1:
                parameters = [{name: one[name] for name in one if name in common} for one in parameters]
            self._tables[families] = places, Table(parameters)
        return self._tables[families]


def _among(places: np.ndarray, cases: Sequence[int]) -> np.ndarray:
    """Return a mask of all places, true at the given cases."""
    return np.isin(places, np.asarray(cases, int))


def groups(results: Sequence[Judged], wanted: Iterable[int], searcher: Searcher | None = None) -> list[Group]:
    """Return groups that explain these results.

    Args:
        results: the results of a run, ordered by id; boxes must not contain results that passed.
        wanted: indices of the results to explain.
        searcher: the searcher for these results.
    """
    searcher = searcher or Searcher(results)
    known, unknown = _by_explanation(results, wanted)
    found = [Group(id_, tuple(cases)) for (_, id_), cases in known.items()]
    found = [Group(one.explanation, one.cases, searcher.inside(one.cases)) for one in _largest_first(found)]
    for cases in sorted(unknown.values(), key=lambda cases: (-len(cases), cases)):
        found += _by_box(searcher, cases)
    found = _across_families(searcher, _of_one_box(searcher, _largest_first(found)))
    return [replace(one, outside=searcher.outside(one.cases, one.inside)) for one in found]


def _largest_first(found: Iterable[Group]) -> list[Group]:
    return sorted(found, key=lambda one: (-len(one.cases), one.explanation, one.cases))


def _by_explanation(
    results: Sequence[Judged], wanted: Iterable[int]
) -> tuple[dict[tuple[str, str], list[int]], dict[tuple[str, str, str], list[int]]]:
    """Return explained cases by verdict class and id of the explanation, and the others by class, family and code."""
    known: dict[tuple[str, str], list[int]] = defaultdict(list)
    unknown: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    with_defects = []
    for place in wanted:
        one = results[place]
        if one.verdict in FAILING and one.defects:
            with_defects.append(place)
        elif one.known and one.verdict not in FAILING:
            known[one.verdict, one.known].append(place)
        elif one.verdict is Verdict.QUALITY_WARNING and one.code:
            known[one.verdict, one.code].append(place)
        else:
            kind = "failing" if one.verdict in FAILING and one.code else one.verdict
            unknown[kind, one.family, one.code].append(place)
    for place, id_ in zip(with_defects, explained([results[place].defects for place in with_defects]), strict=True):
        known["failing", id_].append(place)
    return known, unknown


def _by_box(searcher: Searcher, cases: Sequence[int]) -> list[Group]:
    """Return a group for each box of unexplained cases in one family, and one group of the cases in no box."""
    found, left = [], list(cases)
    for inside in searcher.inside(cases):
        within = searcher.has(inside.family, inside.box)
        found.append(Group("", tuple(place for place in left if place in within), (inside,)))
        left = [place for place in left if place not in within]
    return found + [Group("", tuple(left))] * bool(left)


def _merge(merged: dict[int, Group], numbers: Sequence[int], union: Callable[[int, int], Group | None]) -> None:
    """Merge the groups of these numbers, the last one first, each into the first other group with which it has a union.

    Args:
        merged: the groups by number, to change. A union keeps the number of the other group.
        numbers: numbers of groups in ``merged``.
        union: takes the number of the other group and of the one to merge; returns None if they must stay apart.
    """
    for small in reversed(numbers):
        for large in numbers:
            if large != small and large in merged and (both := union(large, small)) is not None:
                merged[large] = both
                del merged[small]
                break


def _of_one_box(searcher: Searcher, found: Sequence[Group]) -> list[Group]:
    """Merge groups of one family that one box decides."""
    merged = dict(enumerate(found))
    families = [set(searcher.families(group.cases)) if _fails(searcher, group) else set() for group in found]

    def union(large: int, small: int) -> Group | None:
        is_of_family = len(families[small]) == 1 and families[small] <= families[large]
        return _both(searcher, merged[large], merged[small]) if is_of_family else None

    _merge(merged, list(merged), union)
    return list(merged.values())


def _fails(searcher: Searcher, group: Group) -> bool:
    return searcher.results[group.cases[0]].verdict in FAILING


def _both(searcher: Searcher, large: Group, small: Group) -> Group | None:
    """Merge two groups if one box decides both: most cases of the second are in boxes of the first, or one box with fewer conditions
    contains both groups, and no more passes than the two boxes."""
    (family,) = searcher.families(small.cases)
    unknown = not large.explanation and not small.explanation
    boxes = [one for one in large.inside if one.family == family and one.box and (unknown or not one.tentative)]
    theirs = [one for one in small.inside if one.box]
    within = set().union(*(searcher.has(family, one.box) for one in boxes))
    are_inside = 2 * len(within.intersection(small.cases)) >= len(small.cases)
    share = len(boxes) == len(theirs) == 1 and not set(boxes[0].box).isdisjoint(theirs[0].box)
    if not boxes or not (are_inside or (share and not (large.explanation and small.explanation))):
        return None
    ours = [place for place in large.cases if searcher.results[place].family == family]
    together = searcher.search((family,), (*ours, *small.cases))
    same = {one.box for one in together} == {one.box for one in boxes}
    if not together or len(together) > len(boxes) or not all(one.box and (same or not one.tentative) for one in together):
        return None
    if not are_inside and len(together[0].box) >= min(len(boxes[0].box), len(theirs[0].box)):
        return None
    if sum(one.passing for one in together) > sum(one.passing for one in (*boxes, *theirs)):
        return None
    elsewhere = [one for one in large.inside if one.family != family]
    return Group(large.explanation or small.explanation, tuple(sorted((*large.cases, *small.cases))), (*together, *elsewhere))


def _across_families(searcher: Searcher, found: Sequence[Group]) -> list[Group]:
    """Merge unexplained groups of several families if their failures have the same codes, and one box decides all of them."""
    merged = dict(enumerate(found))
    by_codes: dict[frozenset[str], list[int]] = defaultdict(list)
    for number, group in merged.items():
        if not group.explanation and group.inside and _fails(searcher, group):
            by_codes[frozenset(searcher.results[place].code for place in group.cases)].append(number)
    for codes, numbers in by_codes.items():
        # A journal of an older version of the suite has no codes, so it cannot tell whether failures of two families are alike.
        if "" not in codes:
            _merge(merged, numbers, lambda large, small: _joint(searcher, merged[large], merged[small]))
    return list(merged.values())


def _joint(searcher: Searcher, large: Group, small: Group) -> Group | None:
    """Return the union of two groups of different families; None if no box over their common parameters decides both."""
    if searcher.work <= 0 or not _alike(large, small):
        return None
    families = tuple(dict.fromkeys((*searcher.families(large.cases), *searcher.families(small.cases))))
    if len(families) == 1:
        return None
    cases = tuple(sorted((*large.cases, *small.cases)))
    inside = searcher.joint(families, cases, (*large.inside, *small.inside))
    return Group("", cases, inside) if inside else None


def _alike(one: Group, other: Group) -> bool:
    """Tell whether boxes of two groups have a condition on the same axis, or may be accidental, in which case another axis may decide
    both."""
    if all(inside.tentative for group in (one, other) for inside in group.inside):
        return True
    first, second = ({condition.axis for inside in group.inside for condition in inside.box} for group in (one, other))
    return not first.isdisjoint(second)
