"""Finds out whether a device with a known defect would fail a case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from cts.defects.defect import Defect
from cts.defects.evaluation import evaluate_defect
from cts.defects.remembering import Remembered
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


class Prepared(NamedTuple):
    """A subcase on which defects are tried.

    Attributes:
        program, subcase: the program and its data.
        expected, before: the expected results, and the initial buffers.
        remembered: the results of operations, from one defect to the next.
    """

    program: Program
    subcase: Subcase
    expected: Expected
    before: Mapping[str, np.ndarray]
    remembered: Remembered


def expecting(program: Program, subcase: Subcase) -> Prepared:
    """Return a subcase with its expected results."""
    expected = evaluate(program, subcase)
    return Prepared(program, subcase, expected, initial_contents(program, subcase, expected), Remembered())


def prepared(case: Case, program: Program) -> Iterator[Prepared]:
    """Yield every subcase of a case with the program ``program``, with its expected results."""
    built = build(case)
    for one in program.all:
        for subcase in built.subcases(one):
            yield expecting(one, subcase)


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
    program, subcase, expected, before, remembered = at
    with np.errstate(all="ignore"):
        broken = evaluate_defect(program, subcase, defect.substitutes, beyond=BEYOND, remembered=remembered)
    return not is_permitted(program, expected, before, {**before, **outcome_of(program, broken, before).outputs})
