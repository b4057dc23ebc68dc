"""Follows one element from its store back to the bytes in memory, in a record of the reference model's steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from cts.element_walk.back import Back, other_names
from cts.element_walk.recording import Performed
from cts.element_walk.sources import step_back
from cts.element_walk.steps import NoSuchElement, Place, Step, Walk
from cts.verdict.elements import number, words
from cts.verdict.expected import Expected, Interval, Placed, ValueSet
from generators.program.program import Program

MOST_STEPS = 16
"""Maximum number of steps of a walk."""

_MOST_INSTEAD = 4


def walk(program: Program, steps: Sequence[Performed], expected: Expected, place: Place) -> Walk:
    """Return how an element was computed.

    Args:
        program: the program that ran.
        steps, expected: from cts.element_walk.recording.recorded.
        place: the element.

    Raises:
        NoSuchElement: the dispatch does not write it.
    """
    placed, at = _placed(expected, place)
    back = Back(steps, other_names(program))
    first, queue = back.store(placed, at)
    found = [first]
    seen = set()
    more = False
    while queue:
        one = queue.pop(0)
        if one in seen:
            continue
        if len(found) == MOST_STEPS:
            more = True
            break
        seen.add(one)
        step, sources = step_back(back, one)
        found.append(step)
        queue += sources
    allowed = _allowed(placed.permitted, at)
    return Walk(place, int(placed.offsets[at]), placed.what, allowed, tuple(found), more)


def departing(right: Walk, wrong: Walk) -> Walk:
    """Return a walk whose steps say where a walk with the suspected defect has other values.

    A step is the same in both if it is about the same element, the same number of times after an equal one.
    """
    others = dict(_counted(wrong.steps))
    return replace(right, steps=tuple(_beside(step, others.get(key, step)) for key, step in _counted(right.steps)))


def _beside(step: Step, other: Step) -> Step:
    if step.value == other.value:
        return step
    pairs = [*zip(_lines(step), _lines(other), strict=False)]
    return replace(step, suspected=other.value, instead=tuple(line for own, line in pairs if own != line)[:_MOST_INSTEAD])


def _lines(step: Step) -> Iterator[str]:
    yield from step.sources
    for term in step.terms:
        yield ", ".join(filter(None, (term.left, term.right)))


def _counted(steps: Sequence[Step]) -> Iterator[tuple[tuple[str, int], Step]]:
    numbers: dict[str, int] = {}
    for step in steps:
        numbers[step.what] = numbers.get(step.what, 0) + 1
        yield (step.what, numbers[step.what]), step


def _placed(expected: Expected, place: Place) -> tuple[Placed, tuple[int, int, int]]:
    for placed in expected.placed:
        if placed.array != place.array:
            continue
        wanted = (place.instance, place.row, place.column)
        if placed.cells is not None:
            hits = np.flatnonzero((placed.cells == wanted).all(axis=1))
            if len(hits):
                return placed, (0, 0, int(hits[0]))
        elif all(0 <= index < size for index, size in zip(wanted, placed.offsets.shape, strict=True)):
            return placed, wanted
    raise NoSuchElement(
        f"no store to {place.array} has an element ({place.row}, {place.column}) of instance {place.instance}: "
        f"'cts show CASE --expected' lists the stores"
    )


def _allowed(allowed: ValueSet, at: tuple[int, int, int]) -> str:
    component = allowed.component
    if isinstance(allowed, Interval):
        nearest = words(int(allowed.bits[at]), component)
        return f"{number(float(allowed.low[at]))} to {number(float(allowed.high[at]))}, nearest {nearest}"
    return " or ".join(dict.fromkeys(words(int(choice[at]), component) for choice in allowed.choices))
