"""Finds out on which operations, and on which operands of wide ones, the wrong elements depend: other edits cannot explain these.

Each question changes some results a little, evaluates the program and sees which elements change. It asks for many results at once and
divides only the groups on which enough wrong elements depend.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np

from cts.defects.defect import Defect
from cts.defects.evaluation import Substitute, Trace
from cts.defects.single_edits.changes import probe, probe_of_operands
from cts.defects.single_edits.places import Place
from cts.diagnosis.limit import SearchEnded
from cts.verdict.expected import Expected
from generators.program.composites import CompositeConstruct
from generators.program.operation import Operation
from generators.program.values import Operand
from generators.program.walking import results

One = TypeVar("One")

_FRUITLESS = 6
"""How many questions may rule nothing out before no more are asked of groups."""

_FEWEST = 0.25
"""The share of the wrong elements that must depend on what a mistake changes: a value may stay as it is by chance."""

_MOST = 0.95
"""The share of the wrong elements that usually depends on what a mistake changes."""

_OTHERS = (0.3, 1.5, 6)
"""How many right elements depend on what a mistake changes, for each wrong one: the fewer, the likelier is the mistake."""


@dataclass
class Reach:
    """What the wrong elements of a subcase depend on.

    Attributes:
        right: the expected elements.
        wrong: for each store, which elements are wrong.
        evaluated: evaluates the program with wrong steps; None if that is not possible.
    """

    right: Expected
    wrong: Sequence[np.ndarray]
    evaluated: Callable[[Mapping[Operation, Substitute]], Expected | None]
    _of_operations: dict[Operation, np.ndarray] = field(default_factory=dict)
    _of_operands: dict[tuple[Operation, str], np.ndarray] = field(default_factory=dict)
    _shares: dict[tuple[int, ...], tuple[float, float]] = field(default_factory=dict)

    @cached_property
    def _wrong(self) -> np.ndarray:
        """Which elements are wrong, of all stores, bool, (elements,)."""
        return np.concatenate([np.zeros(0, bool), *(bad.reshape(-1) for bad in self.wrong)])

    def _changed(self, steps: Mapping[Operation, Substitute]) -> np.ndarray:
        """Return which elements wrong steps change, bool, (elements,); all if that is not known."""
        other = self.evaluated(steps)
        if other is None or len(other.placed) != len(self.right.placed):
            return np.ones(self._wrong.shape, bool)
        changed = [np.zeros(0, bool)]
        for placed, mutant in zip(self.right.placed, other.placed, strict=True):
            same = placed.array == mutant.array and np.array_equal(placed.offsets, mutant.offsets)
            changed.append((placed.expected.bits != mutant.expected.bits).reshape(-1) if same else np.ones(placed.offsets.size, bool))
        return np.concatenate(changed)

    def _share(self, changed: np.ndarray) -> float:
        """Return the share of the wrong elements that are among ``changed`` ones."""
        return float(np.count_nonzero(changed & self._wrong)) / max(int(np.count_nonzero(self._wrong)), 1)

    def learn(self, operations: Iterable[Operation], trace: Trace, check: Callable[[], None] = lambda: None) -> None:
        """Find out which elements depend on each of some operations, until ``check`` raises SearchEnded."""
        new = [operation for operation in dict.fromkeys(operations) if operation not in self._of_operations]
        with np.errstate(all="ignore"):
            known = {operation: step for operation in new if (step := probe(operation, trace)) is not None}

        def reached(group: Sequence[Operation]) -> np.ndarray:
            return self._changed({operation: known[operation] for operation in group})

        self._of_operations.update(_divided(list(known), reached, lambda changed: self._share(changed) > _FEWEST, check))

    def chosen(self, operation: Operation, places: list[Place]) -> list[Place]:
        """Return the operands of an operation on which wrong elements depend."""
        found = _divided(
            [place for place in places if isinstance(operation, CompositeConstruct) or not isinstance(place.value, Operand)],
            lambda group: self._changed({operation: probe_of_operands(group)}),
            lambda changed: self._share(changed) > 0,
            lambda: None,
        )
        self._of_operands.update({(operation, place.words): changed for place, changed in found.items()})
        return [place for place in places if place not in found or self._share(found[place])]

    def _of(self, defect: Defect) -> tuple[float, float] | None:
        """Return the share of the wrong elements that depend on what a defect changes, and how many right elements do for each wrong one;
        None if that is not known.
        """
        found: list[np.ndarray] = []
        for operation in defect.substitutes:
            for name in ("operand", "other") if defect.id.endswith("exchanged") else ("operand",):
                own = self._of_operands.get((operation, str(defect.parameters.get(name))), self._of_operations.get(operation))
                if own is None:
                    return None
                found.append(own)
        key = tuple(map(id, found))
        if key not in self._shares:
            together = np.any(found, axis=0)
            others = np.count_nonzero(together & ~self._wrong) / max(int(np.count_nonzero(self._wrong)), 1)
            self._shares[key] = self._share(together), others
        return self._shares[key]

    def may_explain(self, defect: Defect) -> bool:
        """Tell whether a defect may change the wrong elements. A store to a wrong place changes elements that do not depend on it."""
        found = None if defect.changes_others else self._of(defect)
        return found is None or found[0] >= _FEWEST or not all(any(results(operation)) for operation in defect.substitutes)

    def distance(self, defect: Defect) -> int:
        """Return how badly the elements that depend on what a defect changes fit the wrong ones.

        It is 0 if nearly all wrong elements depend on it and few others; more if more others do, or nothing is known; and most if some
        wrong elements do not.
        """
        found = self._of(defect)
        if found is None:
            return 1
        share, others = found
        return len(_OTHERS) + 1 if share < _MOST else sum(others > one for one in _OTHERS)


def _divided(
    every: Sequence[One], reached: Callable[[Sequence[One]], np.ndarray], keeps: Callable[[np.ndarray], bool], check: Callable[[], None]
) -> Mapping[One, np.ndarray]:
    """Return which elements depend on each of some things, as far as it is known.

    Args:
        every: the things.
        reached: returns which elements depend on some of them, bool, (elements,).
        keeps: tells whether enough wrong ones do.
        check: raises SearchEnded if there is no time for more questions.
    """
    groups: list[Sequence[One]] = [every] if every else []
    fruitless = 0
    found: dict[One, np.ndarray] = {}
    try:
        while groups:
            group = groups.pop(0)
            if fruitless >= _FRUITLESS:
                halves: Collection[Sequence[One]] = [[one] for one in group]
            else:
                halves = [half for half in (group[: len(group) // 2], group[len(group) // 2 :]) if len(half)]
            for half in halves:
                check()
                changed = reached(half)
                if len(half) == 1:
                    found[half[0]] = changed
                elif keeps(changed):
                    fruitless += 1
                    groups.append(half)
                else:
                    fruitless = 0
                    found.update(dict.fromkeys(half, changed))
    except SearchEnded:
        pass
    return found
