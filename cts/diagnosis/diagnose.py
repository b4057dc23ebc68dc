"""Finds known defects that explain the results of a device, and relations between the results and the expected values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cts.defects.defect import Defect
from cts.defects.evaluation import evaluate_defect
from cts.defects.glossary import ParameterValue, glossary
from cts.defects.known import known_defects
from cts.verdict.compare import is_permitted, wrong_elements
from cts.verdict.elements import gather
from cts.verdict.expected import Exact, Expected, Placed, ValueSet, as_expected
from cts.verdict.failure import Fit, Match
from generators.errors import GeneratorError
from generators.kernel import Outcome
from generators.numerics.formats import is_nan, values
from generators.program.program import Program, Subcase

LISTED = 4
"""The most explanations of a message."""

TELLING = 4
"""A defect that explains only the wrong elements is mentioned if there are at least this many."""


def gives(program: Program, other: Expected, before: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> bool:
    """Tell whether ``other`` expects all results."""
    return is_permitted(program, as_expected(other), before, outputs)


def _explains_wrong_ones(expected: Expected, other: Expected, before: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> bool:
    """Tell whether ``other`` allows all elements that ``expected`` does not allow. Both must place the same elements."""
    wrong = 0
    for placed, mutant in zip(expected.placed, other.placed, strict=False):
        if placed.array != mutant.array or not np.array_equal(placed.offsets, mutant.offsets):
            return False
        got = gather(outputs[placed.array], placed.offsets, placed.component)
        bad = wrong_elements(placed, before, outputs)
        if not mutant.expected.contains(got)[bad].all():
            return False
        wrong += int(np.count_nonzero(bad))
    return len(expected.placed) == len(other.placed) and wrong >= TELLING


def _explained_apart_from_beyond(
    program: Program,
    subcase: Subcase,
    defect: Defect,
    expected: Expected,
    before: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray],
) -> int:
    """Return how many failing elements a defect that reads beyond an array explains: all elements that do not depend on the bytes there.
    Return 0 if it does not explain all of these, or if they are few.

    The defect is evaluated with two different bytes beyond the arrays: an element that is the same in both does not depend on them.
    """
    try:
        with np.errstate(all="ignore"):
            one, other = (evaluate_defect(program, subcase, defect.substitutes, beyond) for beyond in (0x00, 0x2A))
    except (GeneratorError, LookupError, ValueError):
        return 0
    total = explained = 0
    for placed, first, second in zip(expected.placed, one.placed, other.placed, strict=False):
        if not np.array_equal(placed.offsets, first.offsets):
            return 0
        got = gather(outputs[placed.array], placed.offsets, placed.component)
        known = first.expected.bits == second.expected.bits
        if not first.expected.contains(got)[known].all():
            return 0
        total += known.size
        explained += int(np.count_nonzero(known & wrong_elements(placed, before, outputs)))
    return explained if explained >= max(TELLING, total // 8) else 0


def diagnose(
    program: Program,
    subcase: Subcase,
    expected: Expected,
    before: Mapping[str, np.ndarray],
    outcome: Outcome,
    only: Collection[Match] | None = None,
    foreseen: Collection[str] = (),
) -> tuple[Match, ...]:
    """Return the known defects that explain the results.

    These are defects that explain all elements; if there are none, defects that explain the wrong elements; if there are none, relations
    between expected and received elements. This costs many evaluations, so it is only for failures.

    Args:
        program, subcase: the program and subcase that ran.
        expected, before: as for cts.verdict.compare.compare.
        outcome: the results.
        only: try only these defects; None for all known defects.
        foreseen: ids of defects to try first; if they explain everything, no others are tried.
    """
    outputs = {name: outcome.outputs.get(name, before[name]) for name in before}
    if any(len(outputs[name]) != len(before[name]) for name in before):
        return ()
    search = _Search(program, subcase, expected, before, outputs)
    if only is None:
        if foreseen and (found := search.fitting(defect for defect in known_defects(program) if defect.id in foreseen)[0]):
            return ranked(found)
        whole, partly = search.fitting(known_defects(program))
    else:
        wanted = {(match.id, match.sentence) for match in only}
        whole, partly = search.fitting((one for one in known_defects(program) if (one.id, one.text) in wanted), simplest=False)
    if whole:
        return ranked(whole)
    related = [replace(match, failing=search.failing) for match in _relations(expected, before, outputs)]
    if only is not None:
        related = [match for match in related if (match.id, match.sentence) in wanted]
    return (*related, *ranked(partly))[:LISTED]


@dataclass(frozen=True)
class _Search:
    """The results of a subcase, and its expected results."""

    program: Program
    subcase: Subcase
    expected: Expected
    before: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]

    @cached_property
    def failing(self) -> int:
        """Return how many elements have values that are not permitted."""
        return failing_elements(self.expected, self.before, self.outputs)

    def fitting(self, defects: Iterable[Defect], simplest: bool = True) -> tuple[list[Match], list[Match]]:
        """Return which of the defects explain all elements, and which explain only the wrong elements. ``LISTED`` of the former are enough.

        Args:
            simplest: whether to leave out a defect if a part of it already explains everything.
        """
        program, expected, before, outputs = self.program, self.expected, self.before, self.outputs
        whole: dict[Match, Defect] = {}
        partly: dict[Match, None] = {}
        for defect in defects:
            if simplest and any(simpler.substitutes.items() <= defect.substitutes.items() for simpler in whole.values()):
                continue
            try:
                # A defect may overflow although the right program does not.
                with np.errstate(all="ignore"):
                    other = evaluate_defect(program, self.subcase, defect.substitutes)
                    if gives(program, other, before, outputs) and (defect.also is None or defect.also(expected, other, before, outputs)):
                        whole[_match(defect, Fit.ALL, self.failing, self.failing)] = defect
                    elif not whole and _explains_wrong_ones(expected, other, before, outputs):
                        partly[_match(defect, Fit.WRONG_ELEMENTS, self.failing, self.failing)] = None
            except (GeneratorError, LookupError, ValueError):
                if explained := _explained_apart_from_beyond(program, self.subcase, defect, expected, before, outputs):
                    whole[_match(defect, Fit.BEYOND_ARRAY, explained, self.failing)] = defect
            if len(whole) == LISTED:
                break
        return list(whole), list(partly)


def failing_elements(expected: Expected, before: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> int:
    """Return how many elements have values that are not permitted."""
    return sum(int(np.count_nonzero(wrong_elements(placed, before, outputs))) for placed in expected.placed)


def ranked(matches: Sequence[Match]) -> tuple[Match, ...]:
    """Return the matches that explain most first; if several explain most, mark them as equal."""
    ordered = sorted(matches, key=lambda match: -match.explains)
    best = sum(match.explains == ordered[0].explains for match in ordered) if ordered else 0
    return tuple(replace(match, equal=best > 1 and number < best) for number, match in enumerate(ordered))


def _match(defect: Defect, fit: Fit, explains: int, failing: int) -> Match:
    return Match(defect.id, defect.text, fit, explains, failing)


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
