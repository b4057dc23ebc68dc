"""Cases that passed and are similar to a failed one: the parameter that makes the difference is a good place to start an investigation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cts.verdict.verdict import ENDED_WELL, CaseResult
from reports.verdicts import PAGED

MOST = 5
"""Maximum number of neighbours on a page."""

MOST_DIFFERENCES = 3
"""Maximum number of parameters in which a neighbour differs; cases with more differences have little to do with the failure."""


@dataclass(frozen=True)
class Difference:
    """A parameter that differs between two cases.

    Attributes:
        name: the parameter's name.
        failed, passed: its label in the failed case and in the passing case; empty if it does not apply.
    """

    name: str
    failed: str
    passed: str


@dataclass(frozen=True)
class Neighbour:
    """A case that passed, and its differences from the failed case."""

    id: str
    differences: tuple[Difference, ...]


class Neighbours:
    """The passes of a run, prepared for comparison with its failures.

    Args:
        results: the results of the whole run. Results without parameters, in journals of older versions of the suite, have no neighbours.
    """

    def __init__(self, results: Sequence[CaseResult]) -> None:
        failed = {result.family for result in results if result.verdict in PAGED}
        passes: dict[str, list[CaseResult]] = defaultdict(list)
        names: dict[str, dict[str, None]] = defaultdict(dict)
        for result in results:
            if result.family in failed and result.parameters:
                names[result.family].update(dict.fromkeys(result.parameters))
                if result.verdict in ENDED_WELL:
                    passes[result.family].append(result)
        self._names = {family: tuple(found) for family, found in names.items()}
        self._numbers: dict[str, int] = {}
        self._passes = {family: (found, np.stack([self._row(result) for result in found])) for family, found in passes.items()}

    def passed(self, result: CaseResult) -> tuple[Neighbour, ...]:
        """Return at most MOST cases of the same family that passed, with the fewest different parameters first. Among equals, cases that
        differ in other parameters than the earlier ones come first, so a parameter with many labels does not hide the rest; then the order
        is by id."""
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
        """Return a number for each label, so hundreds of thousands of cases can be compared at once in little memory."""
        labels = (result.parameters.get(name, "") for name in self._names[result.family])
        return np.array([self._numbers.setdefault(label, len(self._numbers)) for label in labels], np.int32)

    def _neighbour(self, failed: CaseResult, passed: CaseResult) -> Neighbour:
        both = ((name, failed.parameters.get(name, ""), passed.parameters.get(name, "")) for name in self._names[failed.family])
        return Neighbour(passed.id, tuple(Difference(name, one, other) for name, one, other in both if one != other))
