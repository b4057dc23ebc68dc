"""Finds out which operations, and which operands of wide ones, the wrong elements depend on: other edits cannot explain these.

Each question changes some results a little, evaluates the program and sees which elements change. It asks for many results at once and
divides only the groups on which enough wrong elements depend.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np

from cts.defects.defect import Defect
from cts.defects.evaluation import Substitute, Trace
from cts.defects.single_edits.changes import probe, probe_of_operands
from cts.defects.single_edits.places import Place
from cts.verdict.expected import Expected
from generators.program.operation import Operation

One = TypeVar("One")

_FRUITLESS = 6
"""How many questions may rule nothing out before no more are asked."""


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
    _ruled_out: set[Operation] = field(default_factory=set)

    @cached_property
    def _total(self) -> int:
        return sum(int(np.count_nonzero(bad)) for bad in self.wrong)

    def _share(self, steps: Mapping[Operation, Substitute]) -> float:
        """Return the share of the wrong elements that wrong steps change; 1 if that is not known."""
        other = self.evaluated(steps)
        if other is None or len(other.placed) != len(self.right.placed):
            return 1
        changed = 0
        for placed, mutant, bad in zip(self.right.placed, other.placed, self.wrong, strict=True):
            same = placed.array == mutant.array and np.array_equal(placed.offsets, mutant.offsets)
            changed += int(np.count_nonzero((placed.expected.bits != mutant.expected.bits) & bad if same else bad))
        return changed / max(self._total, 1)

    def rule_out(self, edits: Sequence[Defect], trace: Trace) -> None:
        """Find operations on which fewer than half of the wrong elements depend: a value may stay as it is by chance."""
        operations = list(dict.fromkeys(operation for edit in edits for operation in edit.substitutes))
        with np.errstate(all="ignore"):
            known = {operation: step for operation in operations if (step := probe(operation, trace)) is not None}

        def reaches(group: Sequence[Operation]) -> bool:
            return self._share({operation: known[operation] for operation in group}) >= 0.5

        kept: Collection[Operation] = _divided(list(known), reaches)
        self._ruled_out = set(known) - set(kept)

    def chosen(self, operation: Operation, places: list[Place]) -> list[Place]:
        """Return the operands of an operation on which wrong elements depend."""
        return list(_divided(places, lambda group: self._share({operation: probe_of_operands(group)}) >= 0.25))

    def may_explain(self, edit: Defect) -> bool:
        """Tell whether the wrong elements may depend on an operation that a single edit changes."""
        return not self._ruled_out.issuperset(edit.substitutes)


def _divided(every: Sequence[One], keeps: Callable[[Sequence[One]], bool]) -> Collection[One]:
    """Return the members of the smallest groups that are kept; all of those left as soon as asking rules nothing out."""
    groups: list[Sequence[One]] = [every]
    fruitless = 0
    kept: list[One] = []
    while groups:
        group = groups.pop(0)
        if len(group) == 1:
            kept += group
            continue
        for half in (group[: len(group) // 2], group[len(group) // 2 :]):
            if fruitless >= _FRUITLESS or keeps(half):
                fruitless += 1
                groups.append(half)
            else:
                fruitless = 0
    return kept
