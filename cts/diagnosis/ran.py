"""A subcase, and what a device made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cts.defects.evaluation import Trace, traced
from cts.defects.remembering import Remembered
from cts.verdict.compare import is_permitted, wrong_elements
from cts.verdict.expected import Expected, Placed, as_expected
from generators.kernel import Outcome
from generators.program.program import Program, Subcase


class ContradictedError(Exception):
    """A store of an evaluation is not in the results."""


@dataclass(frozen=True)
class Ran:
    """A subcase, its expected results, its buffers before, and what a device made of it."""

    program: Program
    subcase: Subcase
    expected: Expected
    before: Mapping[str, np.ndarray]
    outcome: Outcome

    @cached_property
    def outputs(self) -> dict[str, np.ndarray]:
        """Every buffer after the dispatch."""
        return {name: self.outcome.outputs.get(name, self.before[name]) for name in self.before}

    @cached_property
    def failing(self) -> int:
        """The number of elements whose values are not permitted."""
        return failing_elements(self.expected, self.before, self.outputs)

    @cached_property
    def trace(self) -> Trace:
        """The states of the right program."""
        return traced(self.program, self.subcase)

    @cached_property
    def remembered(self) -> Remembered:
        """The results of evaluations of the subcase, to use again."""
        return Remembered()

    @property
    def is_whole(self) -> bool:
        """Whether the device returned buffers of the right sizes."""
        return all(len(self.outputs[name]) == len(self.before[name]) for name in self.before)

    def contradicts(self, placed: Placed) -> None:
        """Compare a store with the results, if the right program stores to the place only once, so nothing else should be there.

        Raises:
            ContradictedError: the results are others.
        """
        is_only = placed.array in self.outputs and self.trace.stores[placed.array, placed.offsets.tobytes()] == 1
        if is_only and wrong_elements(placed, self.before, self.outputs).any():
            raise ContradictedError

    def given_by(self, other: Expected) -> bool:
        """Tell whether ``other`` expects all results."""
        return is_permitted(self.program, as_expected(other), self.before, self.outputs)


def failing_elements(expected: Expected, before: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> int:
    """Return how many elements have values that are not permitted."""
    return sum(int(np.count_nonzero(wrong_elements(placed, before, outputs))) for placed in expected.placed)
