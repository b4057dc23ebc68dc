"""The way back from one element of a case, and the step at which a suspected defect leaves it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain

import numpy as np

from cts.defects.defect import Defect
from cts.defects.evaluation import UNKNOWN
from cts.defects.known import known_defects
from cts.defects.single_edits.of_program import single_edits
from cts.element_walk.recording import recorded, recorded_defect
from cts.element_walk.steps import NoSuchElement, Place, Walk
from cts.element_walk.walk import departing, walk
from cts.verdict.failure import Match
from generators.casebook import Case, build
from generators.errors import CtsError
from generators.program.program import Program, Subcase


def subcase_of(case: Case, wanted: str) -> tuple[Program, Subcase]:
    """Return a subcase of a kernel case, and its program.

    Args:
        wanted: its name, or its number from 0 up; empty for the first.

    Raises:
        NoSuchElement: the case has no such subcase.
    """
    names = []
    built = build(case)
    every = ((program, subcase) for program in built.program.all for subcase in built.subcases(program))
    for number, (program, subcase) in enumerate(every):
        if wanted in ("", subcase.name, str(number)):
            return program, subcase
        names.append(subcase.name)
    raise NoSuchElement(f"{case.id} has no subcase {wanted}; it has {', '.join(names)}")


def walked(program: Program, subcase: Subcase, place: Place, match: Match | None = None, got: str = "") -> Walk:
    """Return how an element was computed.

    Args:
        program, subcase: the program and the dispatch.
        place: the element.
        match: the suspected defect; None for none. A defect whose steps cannot be recorded, or do not end with ``got``, is left out.
        got: what came back, in words; empty if it is not known.

    Raises:
        NoSuchElement: the dispatch does not write the element.
        GeneratorError: the dispatch has no expected results.
    """
    right = walk(program, *recorded(program, subcase), place)
    for defect in _defects(program, match):
        # A single edit gives an operation any operands, so anything may go wrong; it may also store the element nowhere.
        with suppress(CtsError, *UNKNOWN):
            with np.errstate(all="ignore"):
                wrong = walk(program, *recorded_defect(program, subcase, defect.substitutes), place)
            if got in ("", *wrong.expected.split(" or ")) or ", nearest " in wrong.expected:
                return departing(right, wrong)
    return right


def _defects(program: Program, match: Match | None) -> Iterator[Defect]:
    """Yield the defect that a match names, if it is one."""
    if match is not None and match.id:
        for defect in chain(known_defects(program), single_edits(program)):
            if (defect.id, defect.where) == (match.id, match.where):
                yield defect
                return


def suspected(matches: Sequence[Match]) -> Match | None:
    """Return the match to suspect: the first that has an id, unless others fit equally well."""
    first = next((one for one in matches if one.id), None)
    return None if first is None or first.equal else first


def lines(found: Walk, got: str = "", suspect: str = "") -> Iterator[str]:
    """Yield a walk as lines of text.

    Args:
        found: the walk.
        got: what came back; empty if it is not known.
        suspect: the suspected defect in words; empty for none.
    """
    place = found.place
    yield f"element ({place.row}, {place.column}) of {found.what}, instance {place.instance}, in {place.array} at byte {found.offset}"
    yield f"  expected {found.expected}"
    if got:
        yield f"  got      {got}"
    for number, step in enumerate(found.steps, 1):
        yield f"{number}. {step.what} = {step.value}"
        yield from (f"     from {source}" for source in step.sources)
        for term in step.terms:
            yield "     " + "  ".join(
                filter(
                    None,
                    (
                        f"{term.index:>3}",
                        term.left,
                        term.right and f"x {term.right}",
                        term.product and f"= {term.product}",
                        term.total and f"sum {term.total}",
                    ),
                )
            )
        if step.left_out:
            yield f"     … and {step.left_out} more terms"
        if step.suspected:
            yield f"     with the suspected defect: {step.suspected}"
            yield from (f"       {line}" for line in step.instead)
    if found.more:
        yield "… and more steps before these"
    if suspect and (departure := found.departure) is not None:
        yield f"the suspected defect first changes {departure.what}; the defect: {suspect}"
