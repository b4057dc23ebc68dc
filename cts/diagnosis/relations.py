"""Relations between the results and the expected values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cts.defects.glossary import ParameterValue, glossary
from cts.diagnosis.ran import Ran
from cts.verdict.compare import wrong_elements
from cts.verdict.elements import gather
from cts.verdict.expected import Exact, Expected, Placed, ValueSet
from cts.verdict.failure import Match
from generators.numerics.formats import is_nan, values

LISTED = 4
"""The most explanations of a message by known defects, and the most relations; single edits may be as many again."""


def hints(ran: Ran) -> tuple[Match, ...]:
    """Return relations between the expected and the received elements of a subcase."""
    related = _relations(ran.expected, ran.before, ran.outputs) if ran.is_whole else []
    return tuple(replace(match, failing=ran.failing) for match in related)[:LISTED]


def ranked(matches: Sequence[Match]) -> tuple[Match, ...]:
    """Return the matches that explain most first; if several explain most, mark them as equal."""
    ordered = sorted(matches, key=lambda match: -match.explains)
    best = sum(match.explains == ordered[0].explains for match in ordered) if ordered else 0
    return tuple(replace(match, equal=best > 1 and number < best) for number, match in enumerate(ordered))


def relation(name: str, explains: int = 0, **parameters: ParameterValue) -> Match:
    """Return a relation between the results and the expected values: the entry ``outcome.NAME`` of the glossary."""
    id_ = f"outcome.{name}"
    return Match(id_, glossary().sentence(id_, parameters), explains=explains, failing=explains)


def _relations(expected: Expected, before: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> list[Match]:
    found: dict[Match, None] = {}
    for placed in expected.placed:
        got = gather(outputs[placed.array], placed.offsets, placed.component)
        bad = wrong_elements(placed, before, outputs)
        same = gather(before[placed.array], placed.offsets, placed.component) == got
        if (bad & ~same).any():
            explained = int(np.count_nonzero(bad))
            found |= dict.fromkeys(replace(match, explains=explained) for match in relations_of(placed, got, bad))
    return list(found)


def _shifts(wanted: np.ndarray, got: np.ndarray, bad: np.ndarray, what: str) -> Iterator[Match]:
    for axis, name in ((1, "row"), (2, "column")):
        size = wanted.shape[axis]
        for distance in (k for k in (1, 2, 4, 8, 16) if k < size):
            low, high = [slice(None)] * 3, [slice(None)] * 3
            low[axis], high[axis] = slice(0, size - distance), slice(distance, None)
            steps = f"{distance} {name}" if distance == 1 else f"{distance} {name}s"
            if np.array_equal(got, np.roll(wanted, distance, axis)) and len(np.unique(wanted)) > 1:
                # Shifts would say less: a rotation by half is a shift in both directions.
                yield relation("rotated", what=what, distance=steps)
                continue
            for kind, target, source in (("higher", high, low), ("lower", low, high)):
                moved = got[tuple(target)]
                # Equal rows match each other's places, whatever is wrong, so they show nothing.
                if bad[tuple(target)].any() and np.array_equal(moved, wanted[tuple(source)]) and len(np.unique(moved)) > 1:
                    yield relation("shifted", what=what, distance=steps, direction=kind)


def _repeated(wanted: np.ndarray, got: np.ndarray, bad: np.ndarray, what: str) -> Iterator[Match]:
    """Yield matches if each row with wrong elements equals another expected row: one row for all, or the row at one distance."""
    for axis, name in ((1, "row"), (2, "column")):
        lines, received = np.moveaxis(wanted, axis, 0), np.moveaxis(got, axis, 0)
        wrong = np.flatnonzero(np.moveaxis(bad, axis, 0).any(axis=(1, 2)))
        if wrong.size < 2:
            continue
        for line in range(len(lines)):
            if (received[wrong] == lines[line]).all():
                yield relation("as_one_line", what=what, line=name, number=line)
        for distance in range(1, len(lines)):
            for sources, side in ((wrong - distance, "before"), (wrong + distance, "after")):
                inside = sources.min() >= 0 and sources.max() < len(lines)
                if inside and np.array_equal(received[wrong], lines[sources]):
                    yield relation("as_distant_line", what=what, line=name, distance=distance, direction=side)


def _may_round(expected: ValueSet) -> bool:
    """Tell whether float arithmetic made the elements. Values that were only moved are not rounded, so a wrong bit there is not a rounding
    error.
    """
    return expected.component.is_float and (not isinstance(expected, Exact) or expected.either_zero or expected.proof is not None)


_FEWEST_BITS = 7
"""A result with fewer right bits counts as another number."""


def _right_bits(wanted: np.ndarray, got: np.ndarray) -> int:
    """Return in how many bits all numbers agree; 0 if in fewer than ``_FEWEST_BITS``."""
    if not (np.isfinite(got) & np.isfinite(wanted) & (wanted != 0)).all():
        return 0
    bits = int(np.floor(-np.log2(np.abs((got - wanted) / wanted).max())))
    return bits if bits >= _FEWEST_BITS else 0


def relations_of(placed: Placed, got: np.ndarray, bad: np.ndarray) -> Iterator[Match]:
    """Yield relations between the expected elements and ``got`` (bits); ``bad`` (bool) marks the wrong ones. Both have the shape of
    ``placed``.
    """
    wanted, component, name = placed.expected.bits, placed.component, placed.what
    if (values(got[bad], component) == 0).all():
        yield relation("zero", what=name)
        return
    if is_nan(got[bad], component).all():
        yield relation("nan", what=name)
        return
    if component.is_float and np.isinf(values(got[bad], component)).all():
        yield relation("infinite", what=name)
        return
    if wanted.shape[1] == wanted.shape[2] and np.array_equal(got, wanted.transpose(0, 2, 1)):
        yield relation("transposed", what=name)
    yield from _shifts(wanted, got, bad, name)
    if wanted.shape[0] > 1 and np.array_equal(got, np.broadcast_to(wanted[:1], wanted.shape)):
        yield relation("of_first_instance", what=name)
    yield from _repeated(wanted, got, bad, name)
    distance = np.abs(got.astype(object) - wanted.astype(object))
    if _may_round(placed.expected) and (distance[bad] == 1).all():
        yield relation("rounded_otherwise", what=name)
    elif _may_round(placed.expected) and (bits := _right_bits(values(wanted[bad], component), values(got[bad], component))):
        yield relation("relative_error", what=name, bits=bits)
    sign = 1 << (component.bits - 1)
    if (component.is_float and ((got ^ wanted)[bad] == sign).all()) or (
        not component.is_float and ((got + wanted)[bad] == 0).all() and np.count_nonzero(bad) > 1
    ):
        yield relation("other_sign", what=name)
    if np.count_nonzero(bad) > 1 and np.array_equal(np.sort(got, axis=None), np.sort(wanted, axis=None)):
        yield relation("elsewhere", what=name)
