"""Compares what a dispatch left in memory with what it may leave, bit for bit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from cts.verdict.elements import gather, number, scatter, words
from cts.verdict.expected import Expected, Placed
from cts.verdict.membership import allows
from cts.verdict.pattern import pattern
from cts.verdict.poison import covered
from generators.kernel import Outcome, StrayWrite
from generators.numerics.formats import values
from generators.program.program import Program
from generators.types import ComponentType

Kind = Literal["wrong value", "not written", "padding overwritten", "stray write"]

_LISTED = 12
"""Wrong elements that a message lists."""

_RECORDED_WRONG = 512
"""Wrong elements that a mismatch has with their values."""

_RECORDED = 4096
"""Elements whose bits a record has."""

Number = float | int | str
"""A value that JSON can hold: infinities and NaN are strings."""


@dataclass(frozen=True)
class WrongElement:
    """One element that is not what it may be.

    Attributes:
        instance, row, column: where in the matrix. ``offset``: byte offset in the array.
        expected_bits, expected: allowed bits and their value; for an interval those nearest to the true value.
        others: further allowed bits.
        got_bits, got: what came back.
        low, high: ends of the interval of allowed values, None where bits are compared.
        center, bound, magnitude: of the envelope: true value x, half the width, S = sum |a*b| + |c|.
    """

    instance: int
    row: int
    column: int
    offset: int
    component: ComponentType
    expected_bits: int
    expected: Number
    got_bits: int
    got: Number
    others: tuple[int, ...] = ()
    low: float | None = None
    high: float | None = None
    center: float | None = None
    bound: float | None = None
    magnitude: float | None = None

    def record(self) -> dict[str, Any]:
        """The JSON object: the attributes, without those that do not apply, bits in hexadecimal."""
        digits = self.component.bits // 4
        present = {name: value for name, value in vars(self).items() if value is not None and name not in ("component", "others")}
        return {**present, "expected_bits": f"0x{self.expected_bits:0{digits}x}", "got_bits": f"0x{self.got_bits:0{digits}x}"}

    def __str__(self) -> str:
        wanted = " or ".join(words(bits, self.component) for bits in (self.expected_bits, *self.others))
        got = words(self.got_bits, self.component)
        if self.low is None or self.high is None:
            return f"expected {wanted}, got {got}"
        wanted = f"in [{number(self.low)}, {number(self.high)}], nearest {wanted}"
        if self.center is None or self.bound is None or self.magnitude is None:
            return f"expected {wanted}, got {got}"
        wanted += f", true value {number(self.center)}, bound {self.bound:.3g}, S {self.magnitude:.6g}"
        if self.bound > 0 and not isinstance(self.got, str):
            got += f", off by {abs(self.got - self.center) / self.bound:.3g} of the bound"
        return f"expected {wanted}; got {got}"


@dataclass(frozen=True)
class Picture:
    """What a report needs to draw the matrix: ``wrong`` (bool), ``expected`` and ``got`` bits, (instances, rows, columns)."""

    wrong: np.ndarray
    expected: np.ndarray
    got: np.ndarray
    component: ComponentType

    def masks(self, instance: int) -> list[str]:
        """The wrong elements of each row as a hexadecimal mask, bit 0 for column 0."""
        return [f"{sum(1 << column for column in np.flatnonzero(row).tolist()):x}" for row in self.wrong[instance]]

    def hexadecimal(self, bits: np.ndarray, instance: int) -> list[str]:
        """Bits of the first 4096 elements of an instance, row by row."""
        digits = self.component.bits // 4
        return [f"{value:0{digits}x}" for value in bits[instance].ravel()[:_RECORDED].tolist()]


@dataclass(frozen=True)
class Mismatch:
    """One way in which an outcome is not allowed.

    Attributes:
        kind: what is wrong with the elements or bytes.
        array: the array in memory. ``what``: the stored value; the place for bytes.
        instance: the first scope instance with wrong elements.
        count, total: wrong elements (bytes for padding and strays), and all, in all instances.
        pattern: which ones, in words.
        elements: the first wrong ones.
        picture: of the whole matrix, None for bytes.
        grounds: why a computed float must have this one value, in words.
    """

    kind: Kind
    array: str
    what: str
    instance: int
    count: int
    total: int
    pattern: str
    elements: tuple[WrongElement, ...] = field(default=(), repr=False)
    picture: Picture | None = field(default=None, repr=False, compare=False)
    grounds: str = ""

    def record(self) -> dict[str, Any]:
        """The JSON object for the journal.

        Where a matrix is concerned: ``shape`` (rows, columns), ``component``, ``wrong`` (a mask for each row, see Picture.masks),
        ``expected`` and ``got`` (bits in hexadecimal, row by row) are those of the first wrong ``instance``, and ``instances`` has the
        masks of every wrong one.
        """
        record: dict[str, Any] = {
            "kind": self.kind,
            "array": self.array,
            "what": self.what,
            "instance": self.instance,
            "count": self.count,
            "total": self.total,
            "pattern": self.pattern,
            "elements": [element.record() for element in self.elements],
            "grounds": self.grounds,
        }
        if self.picture is not None:
            picture = self.picture
            record |= {
                "shape": list(picture.wrong.shape[1:]),
                "component": picture.component.name,
                "wrong": picture.masks(self.instance),
                "expected": picture.hexadecimal(picture.expected, self.instance),
                "got": picture.hexadecimal(picture.got, self.instance),
                "instances": {str(i): picture.masks(i) for i in np.flatnonzero(picture.wrong.any(axis=(1, 2))).tolist()},
            }
        return record

    @property
    def summary(self) -> str:
        """One line."""
        unit = "elements" if self.picture is not None else "bytes"
        return f"{self.kind}: {self.count} of {self.total} {unit} of {self.what} in {self.array}: {self.pattern}"


def _json_number(value: Any) -> Number:
    plain: float | int = value.item()
    return plain if math.isfinite(plain) else str(plain)


def _wrong_elements(placed: Placed, got: np.ndarray, wrong: np.ndarray) -> tuple[WrongElement, ...]:
    allowed = placed.allowed
    expected_numbers, got_numbers = values(allowed.bits, allowed.component), values(got, allowed.component)

    def element(at: tuple[int, int, int]) -> WrongElement:
        def limit(bounds: np.ndarray | None) -> float | None:
            return None if bounds is None else float(bounds[at])

        return WrongElement(
            *placed.cell(at),
            int(placed.offsets[at]),
            allowed.component,
            int(allowed.bits[at]),
            _json_number(expected_numbers[at]),
            int(got[at]),
            _json_number(got_numbers[at]),
            tuple(int(other[at]) for other in allowed.others),
            limit(allowed.low),
            limit(allowed.high),
            limit(allowed.center),
            limit(allowed.bound),
            limit(allowed.magnitude),
        )

    return tuple(element((i, r, c)) for i, r, c in np.argwhere(wrong)[:_RECORDED_WRONG].tolist())


def _element_mismatches(placed: Placed, before: np.ndarray, after: np.ndarray) -> Iterator[Mismatch]:
    allowed = placed.allowed
    got = gather(after, placed.offsets, allowed.component)
    bad = ~allows(allowed, got)
    if not bad.any():
        return
    same = gather(before, placed.offsets, allowed.component) == got
    kinds: tuple[tuple[Kind, np.ndarray], ...] = (("wrong value", bad & ~same), ("not written", bad & same))
    for kind, wrong in kinds:
        if wrong.any():
            elements = _wrong_elements(placed, got, wrong)
            yield Mismatch(
                kind,
                placed.array,
                placed.what,
                elements[0].instance,
                int(np.count_nonzero(wrong)),
                wrong.size,
                pattern(placed.in_matrix(wrong)),
                elements,
                Picture(placed.in_matrix(wrong), placed.in_matrix(allowed.bits), placed.in_matrix(got), allowed.component),
                str(allowed.proof or ""),
            )


def _padding(array: str, before: np.ndarray, after: np.ndarray, expected: Expected) -> Iterator[Mismatch]:
    mask = covered(len(before), expected, array)
    changed = np.flatnonzero((before != after) & ~mask)
    if len(changed):
        first = changed[:_LISTED].tolist()
        words_ = ", ".join(f"{offset} (0x{before[offset]:02x} became 0x{after[offset]:02x})" for offset in first)
        more = f" and {len(changed) - len(first)} more" if len(changed) > len(first) else ""
        yield Mismatch(
            "padding overwritten",
            array,
            "bytes that no store may touch",
            0,
            len(changed),
            len(before) - int(np.count_nonzero(mask)),
            f"at byte {words_}{more}",
        )


def _stray(stray: StrayWrite) -> Mismatch:
    place = {"read-only": "the read-only buffer", "before": "memory before the buffer", "after": "memory after the buffer"}[stray.where]
    return Mismatch("stray write", stray.buffer, place, 0, stray.count, stray.count, f"first at byte {stray.offset} of {stray.buffer}")


def compare(program: Program, expected: Expected, before: Mapping[str, np.ndarray], outcome: Outcome) -> tuple[Mismatch, ...]:
    """All ways in which ``outcome`` is not allowed; none if the dispatch was right.

    Args:
        program: what ran.
        expected: what it may leave.
        before: what the buffers held, as cts.verdict.poison.initial_contents gave it.
        outcome: what they hold now. A missing or shorter output counts as not written.
    """
    mismatches: list[Mismatch] = []
    for array in program.arrays:
        if array.role not in ("output", "inout") or array.name not in before:
            continue
        old = before[array.name]
        new = outcome.outputs.get(array.name, old)
        if len(new) != len(old):
            new = np.concatenate([new[: len(old)], old[len(new) :]])
        rest = new.copy()
        for placed in expected.placed:
            if placed.array == array.name:
                mismatches.extend(_element_mismatches(placed, old, new))
                _restore(rest, old, placed)
        if not np.array_equal(rest, old):
            mismatches.extend(_padding(array.name, old, new, expected))
    mismatches.extend(_stray(stray) for stray in outcome.stray)
    return tuple(mismatches)


def _restore(contents: np.ndarray, old: np.ndarray, placed: Placed) -> None:
    scatter(contents, placed.offsets, gather(old, placed.offsets, placed.allowed.component))


def format_mismatch(mismatch: Mismatch, diagnosis: Sequence[str] = ()) -> str:
    """Several lines for people: what is wrong, the first wrong elements with both sides, and what would explain it.

    Args:
        mismatch: of compare.
        diagnosis: words of cts.verdict.diagnose.diagnose.
    """
    lines = [mismatch.summary]
    listed = mismatch.elements[:_LISTED]
    several = mismatch.picture is not None and mismatch.picture.wrong.shape[0] > 1
    places = [(f"instance {e.instance} " if several else "") + f"({e.row}, {e.column})" for e in listed]
    width = max(map(len, places), default=0)
    lines.extend(f"  {place:<{width}} at byte {element.offset}: {element}" for place, element in zip(places, listed, strict=True))
    if mismatch.picture is not None and mismatch.count > len(listed):
        lines.append(f"  … and {mismatch.count - len(listed)} more")
    if mismatch.grounds:
        lines.append(f"  {mismatch.grounds}")
    lines.extend(f"  matches: {explanation}" for explanation in diagnosis)
    return "\n".join(lines)
