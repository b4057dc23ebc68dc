"""How the first wrong element of a case came about, for its page."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from cts.element_walk.of_case import subcase_of, walked
from cts.element_walk.walk import Place, Walk
from cts.verdict.verdict import CaseResult
from generators.casebook import Casebook, CaseKind, find_case
from generators.errors import CtsError

WALKS = 3
"""Maximum number of walks for failures of one family with one code and the same defects: others came about in the same way, and the page
has the command."""


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


class Walks:
    """Makes walks for the first pages of each kind of failure.

    Args:
        book: the casebook of the checkout; None if there is none, so there are no walks.
    """

    def __init__(self, book: Casebook | None) -> None:
        self._book = book
        self._made: Counter[tuple[str, str, tuple[str, ...]]] = Counter()

    def first(self, result: CaseResult) -> CaseWalk | None:
        """Return the walk of the first wrong element of a result with all of its failures; None if there is none, or enough are made."""
        failure = next(iter(result.failures), None)
        if self._book is None or failure is None or not failure.mismatch.elements:
            return None
        kind = result.family, result.code, result.defects
        if self._made[kind] == WALKS:
            return None
        element = failure.mismatch.elements[0]
        match = failure.matches[0] if failure.matches else None
        try:
            case = find_case(self._book, result.id)
            if case.definition.kind is not CaseKind.KERNEL or (result.parameters and dict(result.parameters) != case.named):
                return None
            place = Place(failure.mismatch.array, element.instance, element.row, element.column)
            walk = walked(*subcase_of(case, failure.subcase), place, match)
        except CtsError:
            return None
        self._made[kind] += 1
        got = "not written" if failure.mismatch.kind == "not written" else element.returned
        return CaseWalk(walk, got, match.text if match is not None else "")
