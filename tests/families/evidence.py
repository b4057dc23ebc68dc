"""Finds out whether a device with a known defect would fail real cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from cts.defects.defect import Defect
from cts.defects.glossary import ParameterValue
from cts.defects.known import known_defects
from cts.diagnosis.shown import Prepared, changes, expecting
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


@lru_cache(maxsize=16)
def _parts(case_id: str) -> tuple[Program, tuple[Subcase, ...]]:
    built = build(find_case(casebook(), case_id))
    return built.program, tuple(built.subcases())


def parts(case_id: str) -> tuple[Program, list[Subcase]]:
    """Return the program of a case, and its subcases."""
    program, subcases = _parts(case_id)
    return program, list(subcases)


@dataclass(frozen=True, eq=False)
class _Dispatched:
    """A program and its subcase, by which it is known whether they are the same objects: arrays have no hash."""

    program: Program
    subcase: Subcase

    def __hash__(self) -> int:
        return hash((id(self.program), id(self.subcase)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Dispatched) and self.program is other.program and self.subcase is other.subcase


@lru_cache(maxsize=16)
def _judged(one: _Dispatched) -> Prepared:
    return expecting(one.program, one.subcase)


def judged(program: Program, subcase: Subcase) -> Prepared:
    """Return what judges a subcase; it is computed once for all defects that are tried in turn."""
    return _judged(_Dispatched(program, subcase))


def is_seen(program: Program, subcase: Subcase, defect: Defect) -> bool:
    """Return whether a device with ``defect`` fails ``subcase``."""
    try:
        return changes(defect, judged(program, subcase))
    except GeneratorError:
        return True


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
