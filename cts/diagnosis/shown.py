"""Finds out whether a device with a known defect would fail a case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from cts.defects.defect import Defect
from cts.defects.evaluation import evaluate_defect
from cts.reference.evaluate import evaluate
from cts.verdict.compare import is_permitted
from cts.verdict.elements import scatter
from cts.verdict.expected import Expected
from cts.verdict.poison import initial_contents
from generators.casebook import Case, build
from generators.kernel import Outcome
from generators.program.program import Program, Subcase

BEYOND = 0x5A
"""The byte that a defect's loads return beyond an array."""

Prepared = tuple[Program, Subcase, Expected, dict[str, np.ndarray]]
"""A subcase, its expected results, and its initial buffers."""


def prepared(case: Case, program: Program) -> Iterator[Prepared]:
    """Yield every subcase of a case with the program ``program``, with its expected results."""
    built = build(case)
    for one in program.all:
        for subcase in built.subcases(one):
            expected = evaluate(one, subcase)
            yield one, subcase, expected, initial_contents(one, subcase, expected)


def outcome_of(program: Program, expected: Expected, before: Mapping[str, np.ndarray]) -> Outcome:
    """Return the buffers of a device with the results ``expected``."""
    outputs = {array.name: before[array.name].copy() for array in program.arrays if array.role in ("output", "inout")}
    for placed in expected.placed:
        scatter(outputs[placed.array], placed.offsets, placed.expected.bits)
    return Outcome(outputs)


def changes(defect: Defect, at: Prepared) -> bool:
    """Return whether the results of a device with the defect are wrong in the subcase.

    Raises:
        GeneratorError, LookupError, ValueError: the results cannot be computed, or the defect stores out of bounds.
    """
    program, subcase, expected, before = at
    with np.errstate(all="ignore"):
        broken = evaluate_defect(program, subcase, defect.substitutes, beyond=BEYOND)
    return not is_permitted(program, expected, before, {**before, **outcome_of(program, broken, before).outputs})
