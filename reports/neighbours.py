"""Cases that passed and are almost a failed one: which value makes the difference is where an engineer begins to look."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cts.verdict.verdict import CaseResult, Verdict
from reports.causes import labels
from reports.verdicts import EXPLAINED

MOST = 5
"""Neighbours that a page shows."""

MOST_DIFFERENCES = 3
"""Values in which a neighbour may differ; what differs in more has little to do with the failure."""


@dataclass(frozen=True)
class Difference:
    """At ``place`` of the values in the ids, counted from 0, the failed case has ``failed`` and the one that passed ``passed``."""

    place: int
    failed: str
    passed: str


@dataclass(frozen=True)
class Neighbour:
    """A case that passed, and in what it differs from the failed one."""

    id: str
    differences: tuple[Difference, ...]


class Neighbours:
    """The passes of a run, ready to be compared with its failures.

    Args:
        results: of the whole run.
    """

    def __init__(self, results: Sequence[CaseResult]) -> None:
        failed = {result.family for result in results if result.verdict in EXPLAINED}
        self._numbers: dict[str, int] = {}
        ids, rows = defaultdict(list), defaultdict(list)
        for result in results:
            if result.verdict is Verdict.PASS and result.family in failed:
                row = self._row(result.id)
                ids[result.family, len(row)].append(result.id)
                rows[result.family, len(row)].append(row)
        self._passes = {key: (ids[key], np.stack(rows[key])) for key in ids}

    def passed(self, result: CaseResult) -> tuple[Neighbour, ...]:
        """At most MOST cases of the same family that passed, those first that differ in the fewest values. Of equals those come first that
        differ in other axes than the ones before, so that an axis of many values does not hide the rest; then the first by id."""
        row = self._row(result.id)
        if (result.family, len(row)) not in self._passes:
            return ()
        ids, table = self._passes[result.family, len(row)]
        differs = table != row
        counts = differs.sum(axis=1)
        turns: Counter[bytes] = Counter()
        ranked = []
        for i in np.flatnonzero(counts <= MOST_DIFFERENCES):
            places = differs[i].tobytes()
            ranked.append((counts[i], turns[places], i))
            turns[places] += 1
        return tuple(Neighbour(ids[i], _differences(result.id, ids[i])) for _, _, i in sorted(ranked)[:MOST])

    def _row(self, id_: str) -> np.ndarray:
        """A number for each value, so that hundreds of thousands of cases are compared at once and take little memory."""
        return np.array([self._numbers.setdefault(label, len(self._numbers)) for label in labels(id_)], np.int32)


def _differences(failed: str, passed: str) -> tuple[Difference, ...]:
    both = zip(labels(failed), labels(passed), strict=True)
    return tuple(Difference(place, one, other) for place, (one, other) in enumerate(both) if one != other)


def named_labels(id_: str, names: Sequence[str]) -> Mapping[str, str]:
    """Axis -> value of a case; empty where the names are not known, or are of another version of the family."""
    values = labels(id_)
    return dict(zip(names, values, strict=True)) if len(names) == len(values) else {}
