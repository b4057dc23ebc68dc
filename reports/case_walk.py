"""How the first wrong element of a case was computed, for its page."""

from __future__ import annotations

from dataclasses import dataclass

from cts.element_walk.of_case import subcase_of, suspected, walked
from cts.element_walk.steps import Place, Walk
from cts.verdict.failure import UNWRITTEN
from cts.verdict.verdict import CaseResult
from generators.casebook import Casebook, CaseKind, find_case
from generators.errors import CtsError


@dataclass(frozen=True)
class CaseWalk:
    """A walk, and what is known of the element besides.

    Attributes:
        walk: the walk.
        got: what came back, in words.
        suspect: the suspected defect in words; empty for none.
    """

    walk: Walk
    got: str
    suspect: str


def first_walk(result: CaseResult, book: Casebook | None) -> CaseWalk | None:
    """Return the walk of the first wrong element of a result with all of its failures; None if there is none, or no casebook."""
    failure = next(iter(result.failures), None)
    if book is None or failure is None or not failure.mismatch.elements:
        return None
    element = failure.mismatch.elements[0]
    match = suspected(failure.matches)
    try:
        case = find_case(book, result.id)
        if case.definition.kind is not CaseKind.KERNEL or (result.parameters and dict(result.parameters) != case.named):
            return None
        place = Place(failure.mismatch.array, element.instance, element.row, element.column)
        walk = walked(*subcase_of(case, failure.subcase), place, match)
    except CtsError:
        return None
    got = UNWRITTEN if failure.mismatch.kind == UNWRITTEN else element.returned
    return CaseWalk(walk, got, match.text if match is not None else "")
