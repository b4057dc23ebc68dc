"""Cases that passed and are almost a failed one: which parameter makes the difference is where an engineer begins to look."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cts.verdict.verdict import CaseResult, Verdict
from reports.verdicts import PAGED

MOST = 5
"""Neighbours that a page shows."""

MOST_DIFFERENCES = 3
"""Parameters in which a neighbour may differ; what differs in more has little to do with the failure."""


@dataclass(frozen=True)
class Difference:
    """A parameter that is not the same for two cases.

    Attributes:
        name: of the parameter.
        failed, passed: its label in the case that failed and in the one that passed; empty where it does not apply.
    """

    name: str
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
        results: of the whole run. Those without parameters, in journals of older versions of the suite, have no neighbours.
    """

    def __init__(self, results: Sequence[CaseResult]) -> None:
        failed = {result.family for result in results if result.verdict in PAGED}
        passes: dict[str, list[CaseResult]] = defaultdict(list)
        names: dict[str, dict[str, None]] = defaultdict(dict)
        for result in results:
            if result.family in failed and result.parameters:
                names[result.family].update(dict.fromkeys(result.parameters))
                if result.verdict is Verdict.PASS:
                    passes[result.family].append(result)
        self._names = {family: tuple(found) for family, found in names.items()}
        self._numbers: dict[str, int] = {}
        self._passes = {family: (found, np.stack([self._row(result) for result in found])) for family, found in passes.items()}

    def passed(self, result: CaseResult) -> tuple[Neighbour, ...]:
        """Return at most MOST cases of the same family that passed, those first that differ in the fewest parameters. Of equals those come
        first that differ in other parameters than the ones before, so a parameter of many labels does not hide the rest; then the first
        by id."""
        if not result.parameters or result.family not in self._passes:
            return ()
        passes, table = self._passes[result.family]
        differs = table != self._row(result)
        counts = differs.sum(axis=1)
        turns: Counter[bytes] = Counter()
        ranked = []
        for i in np.flatnonzero(counts <= MOST_DIFFERENCES):
            which = differs[i].tobytes()
            ranked.append((counts[i], turns[which], i))
            turns[which] += 1
        return tuple(self._neighbour(result, passes[i]) for _, _, i in sorted(ranked)[:MOST])

    def _row(self, result: CaseResult) -> np.ndarray:
        """Return a number for each label, so hundreds of thousands of cases are compared at once and take little memory."""
        labels = (result.parameters.get(name, "") for name in self._names[result.family])
        return np.array([self._numbers.setdefault(label, len(self._numbers)) for label in labels], np.int32)

    def _neighbour(self, failed: CaseResult, passed: CaseResult) -> Neighbour:
        both = ((name, failed.parameters.get(name, ""), passed.parameters.get(name, "")) for name in self._names[failed.family])
        return Neighbour(passed.id, tuple(Difference(name, one, other) for name, one, other in both if one != other))
