"""What the data of real cases show: whether a device with a known defect would fail them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

import numpy as np

from cts.compare import compare
from cts.defects.defect import Defect
from cts.diagnose import known_defects
from cts.elements import scatter
from cts.expected import Expected
from cts.poison import initial_contents
from cts.reference.evaluate import evaluate
from generators.casebook import Casebook, build_program, build_subcases, find_case, load_casebook
from generators.errors import GeneratorError
from generators.kernel import Outcome
from generators.program.program import Program, Subcase

BEYOND = 0x5A
"""The byte that a defect's loads beyond an array give."""


@cache
def casebook() -> Casebook:
    """The suite's own."""
    return load_casebook(Path(__file__).resolve().parents[2])


def parts(case_id: str) -> tuple[Program, list[Subcase]]:
    """The program of a case, and its subcases."""
    case = find_case(casebook(), case_id)
    program = build_program(case)
    return program, build_subcases(case, program)


def outcome_of(program: Program, expected: Expected, before: Mapping[str, np.ndarray]) -> Outcome:
    """The buffers of a device that does what ``expected`` says."""
    outputs = {name: data.copy() for name, data in before.items()}
    for placed in expected.placed:
        scatter(outputs[placed.array], placed.offsets, placed.allowed.bits)
    return Outcome({array.name: outputs[array.name] for array in program.arrays if array.role in ("output", "inout")})


def is_seen(program: Program, subcase: Subcase, defect: Defect) -> bool:
    """Whether a device with ``defect`` fails ``subcase``."""
    expected = evaluate(program, subcase)
    before = initial_contents(program, subcase, expected)
    try:
        with np.errstate(all="ignore"):
            broken = evaluate(program, subcase, defect.substitutes, beyond=BEYOND)
    except GeneratorError:
        return True
    return bool(compare(program, expected, before, outcome_of(program, broken, before)))


def seen(case_id: str, words: str = "", defects: Callable[[Program], Iterable[Defect]] = known_defects) -> dict[str, bool]:
    """For each of ``defects`` whose description has ``words``: whether a subcase of the case shows it."""
    program, subcases = parts(case_id)
    return {d.words: any(is_seen(program, subcase, d) for subcase in subcases) for d in defects(program) if words in d.words}
