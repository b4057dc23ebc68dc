"""Finds out whether a device with a known defect would fail real cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from cts.defects.defect import Defect
from cts.defects.evaluation import evaluate_defect
from cts.defects.glossary import ParameterValue
from cts.defects.known import known_defects
from cts.diagnosis.shown import BEYOND, outcome_of
from cts.reference.evaluate import evaluate
from cts.verdict.compare import compare
from cts.verdict.poison import initial_contents
from generators.casebook import build, find_case
from generators.errors import GeneratorError
from generators.program.program import Program, Subcase
from tests.suite import casebook

RETURN_DEFECTS = (
    "branch.return_ignored",
    "branch.return_inverted",
    "branch.other_arm_returns",
    "branch.first_arm_returns",
    "branch.second_arm_returns",
    "branch.returns_ignored",
    "branch.exit_ignored",
)
"""Mistakes that a device may make with the returns of a function."""


@dataclass(frozen=True)
class Evidence:
    """The answer to whether a case shows a defect."""

    defect: Defect
    is_visible: bool


def parts(case_id: str) -> tuple[Program, list[Subcase]]:
    """Return the program of a case, and its subcases."""
    case = find_case(casebook(), case_id)
    built = build(case)
    program = built.program
    return program, built.subcases()


def is_seen(program: Program, subcase: Subcase, defect: Defect) -> bool:
    """Return whether a device with ``defect`` fails ``subcase``."""
    expected = evaluate(program, subcase)
    before = initial_contents(program, subcase, expected)
    try:
        with np.errstate(all="ignore"):
            broken = evaluate_defect(program, subcase, defect.substitutes, beyond=BEYOND)
    except GeneratorError:
        return True
    return bool(compare(program, expected, before, outcome_of(program, broken, before)))


def seen(
    case_id: str, *ids: str, defects: Callable[[Program], Iterable[Defect]] = known_defects, **parameters: ParameterValue
) -> list[Evidence]:
    """Return whether a subcase of the case shows each of ``defects`` that has one of the ids (or any id) and the parameters."""
    program, subcases = parts(case_id)
    found = chosen(defects(program), *ids, **parameters)
    return [Evidence(defect, any(is_seen(program, subcase, defect) for subcase in subcases)) for defect in found]


def chosen(defects: Iterable[Defect], *ids: str, **parameters: ParameterValue) -> list[Defect]:
    """Return the defects that have one of the ids (or any id) and the parameters."""
    return [one for one in defects if (not ids or one.id in ids) and parameters.items() <= one.parameters.items()]


def unseen(found: Iterable[Evidence]) -> list[str]:
    """Return the texts of the defects that no case shows."""
    return [one.defect.text for one in found if not one.is_visible]
