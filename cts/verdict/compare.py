"""Compares the memory after a dispatch with its permitted contents, bit for bit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from cts.verdict.codes import Code
from cts.verdict.elements import byte_offsets, gather, scatter
from cts.verdict.expected import NO_AUTHORITY, Authority, Exact, Expected, Interval, OneOf, Placed, ValueSet
from cts.verdict.failure import Bounds, EnvelopeBounds, FailingMatrix, Mismatch, MismatchKind, Number, WrongElement
from cts.verdict.pattern import pattern
from cts.verdict.poison import covered
from generators.kernel import Outcome, StrayWrite
from generators.numerics.formats import values
from generators.program.program import Program
from generators.types import ComponentType

CODES: Mapping[MismatchKind, Code] = MappingProxyType(
    {
        "stray write": Code.FAIL_STRAY_WRITE,
        "padding overwritten": Code.FAIL_PADDING,
        "wrong value": Code.FAIL_VALUE,
        "not written": Code.FAIL_UNWRITTEN,
        "permitted, not expected": Code.QUALITY_WARNING,
    }
)
"""The code of a case with a mismatch of a kind; if it has several kinds, the first of this table counts. A wrong value may equal the
element's old value, which looks as if the element had not been written."""

_LISTED = 12
"""How many wrong elements a message lists."""

_RECORDED_WRONG = 512
"""How many wrong elements a mismatch holds with their values."""

_PART = 1 << 22
"""How many bytes of an array are copied at a time; most arrays are smaller."""

_RECORDED = 4096
"""How many elements' bits a mismatch holds."""


def _json_number(value: Any) -> Number:
    plain: float | int = value.item()
    return plain if math.isfinite(plain) else str(plain)


def _bounds(allowed: ValueSet, at: tuple[int, int, int]) -> Bounds | None:
    if not isinstance(allowed, Interval):
        return None
    ends = float(allowed.low[at]), float(allowed.high[at]), float(allowed.center[at])
    if allowed.envelope is None:
        return Bounds(*ends)
    return EnvelopeBounds(*ends, float(allowed.envelope.bound[at]), float(allowed.envelope.magnitude[at]))


def _wrong_elements(placed: Placed, allowed: ValueSet, got: np.ndarray, wrong: np.ndarray) -> tuple[WrongElement, ...]:
    component = allowed.component
    expected_numbers, got_numbers = values(allowed.bits, component), values(got, component)
    choices = allowed.choices if isinstance(allowed, OneOf) else (allowed.bits,)
    return tuple(
        WrongElement(
            *placed.cell((i, r, c)),
            int(placed.offsets[i, r, c]),
            component.name,
            int(allowed.bits[i, r, c]),
            _json_number(expected_numbers[i, r, c]),
            int(got[i, r, c]),
            _json_number(got_numbers[i, r, c]),
            # Choices that differ for some element of a matrix are the same for others.
            tuple(dict.fromkeys(int(choice[i, r, c]) for choice in choices))[1:],
            _bounds(allowed, (i, r, c)),
        )
        for i, r, c in np.argwhere(wrong)[:_RECORDED_WRONG].tolist()
    )


def masks(wrong: np.ndarray) -> tuple[str, ...]:
    """Return the wrong elements of each row of a matrix (bool, (rows, columns)) as a hexadecimal mask, bit 0 for column 0."""
    return tuple(f"{int.from_bytes(row.tobytes(), 'little'):x}" for row in np.packbits(wrong, axis=1, bitorder="little"))


def failing_matrix(component: ComponentType, wrong: np.ndarray, expected: np.ndarray, got: np.ndarray) -> FailingMatrix:
    """Return a matrix for a report to draw, from ``wrong`` (bool), ``expected`` and ``got`` bits, each (instances, rows, columns)."""
    digits = component.bits // 4
    found = np.flatnonzero(wrong.any(axis=(1, 2))).tolist()

    def hexadecimal(bits: np.ndarray) -> tuple[str, ...]:
        return tuple(f"{value:0{digits}x}" for value in bits[found[0]].ravel()[:_RECORDED].tolist())

    instances = {instance: masks(wrong[instance]) for instance in found}
    shape = wrong.shape[1], wrong.shape[2]
    return FailingMatrix(shape, component.name, instances[found[0]], hexadecimal(expected), hexadecimal(got), instances, len(wrong))


def _mismatch(kind: MismatchKind, placed: Placed, allowed: ValueSet, got: np.ndarray, wrong: np.ndarray) -> Mismatch:
    elements = _wrong_elements(placed, allowed, got, wrong)
    in_matrix = placed.in_matrix(wrong)
    authority = placed.expectation.authority
    proof = allowed.proof if isinstance(allowed, Exact) else None
    return Mismatch(
        kind,
        placed.array,
        placed.what,
        elements[0].instance,
        int(np.count_nonzero(wrong)),
        wrong.size,
        pattern(in_matrix),
        elements,
        failing_matrix(placed.component, in_matrix, placed.in_matrix(allowed.bits), placed.in_matrix(got)),
        str(proof or ""),
        authority.requirement,
        authority.quality if kind == "permitted, not expected" else authority.position,
    )


def _element_mismatches(placed: Placed, before: np.ndarray, after: np.ndarray) -> Iterator[Mismatch]:
    got = gather(after, placed.offsets, placed.component)
    if placed.permitted.contains(got).all():
        return
    held = gather(before, placed.offsets, placed.component)
    bad = placed.not_permitted(held, got)
    if not bad.any():
        return
    same = held == got
    kinds: tuple[tuple[MismatchKind, np.ndarray], ...] = (("wrong value", bad & ~same), ("not written", bad & same))
    for kind, wrong in kinds:
        if wrong.any():
            yield _mismatch(kind, placed, placed.permitted, got, wrong)


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
    """Return all ways in which ``outcome`` is not allowed; none if the dispatch was right.

    Args:
        program: the program that ran.
        expected: the permitted results.
        before: the buffers before the dispatch, from cts.verdict.poison.initial_contents.
        outcome: the buffers after the dispatch. A missing or shorter output counts as not written.
    """
    mismatches: list[Mismatch] = []
    for array in program.arrays:
        if array.role not in ("output", "inout") or array.name not in before:
            continue
        old = before[array.name]
        mismatches.extend(compare_array(array.name, expected, old, outcome.outputs.get(array.name, old)))
    mismatches.extend(_stray(stray) for stray in outcome.stray)
    return tuple(mismatches)


def wrong_elements(placed: Placed, before: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return which elements of a store have wrong values, bool, of the shape of its offsets. A dropped store is not wrong if it may be
    dropped.

    Args:
        placed: the store.
        before, outputs: every buffer before and after the dispatch, uint8.
    """
    held, got = (gather(contents[placed.array], placed.offsets, placed.component) for contents in (before, outputs))
    return placed.not_permitted(held, got)


def is_permitted(program: Program, expected: Expected, before: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> bool:
    """Tell whether ``compare`` finds nothing wrong with ``outputs``.

    If something is wrong, this is much faster than ``compare``: one element rules out most outcomes, and no message is made.

    Args:
        program, expected, before: as for ``compare``.
        outputs: every buffer of ``before`` after the dispatch.
    """
    if any(wrong_elements(placed, before, outputs).any() for placed in expected.placed):
        return False
    return not compare(program, expected, before, Outcome(dict(outputs)))


def compare_array(array: str, expected: Expected, old: np.ndarray, new: np.ndarray) -> Iterator[Mismatch]:
    """Yield all ways in which the contents of an array are not allowed.

    Args:
        array: the name of the array.
        expected: the permitted results in this array and others.
        old, new: its contents before and after, uint8. Bytes that a shorter ``new`` lacks count as not written.
    """
    if len(new) != len(old):
        new = np.concatenate([new[: len(old)], old[len(new) :]])
    stores = [placed for placed in expected.placed if placed.array == array]
    for placed in stores:
        yield from _element_mismatches(placed, old, new)
    if not _is_kept(stores, old, new):
        yield from _padding(array, old, new, expected)


def compare_quality(expected: Expected, before: Mapping[str, np.ndarray], outcome: Outcome) -> tuple[Mismatch, ...]:
    """Return where an outcome has values that are permitted but not expected.

    Args:
        expected: the permitted and the expected results.
        before: the buffers before the dispatch, as for ``compare``.
        outcome: the buffers after the dispatch; ``compare`` has found nothing wrong in it.
    """
    found = []
    for placed in expected.placed:
        if placed.is_judged_by_two_sets:
            got = gather(outcome.outputs[placed.array], placed.offsets, placed.component)
            other = placed.not_expected(gather(before[placed.array], placed.offsets, placed.component), got)
            if other.any():
                found.append(_mismatch("permitted, not expected", placed, placed.expected, got, other))
    return tuple(found)


def _is_kept(stores: Sequence[Placed], old: np.ndarray, new: np.ndarray) -> bool:
    """Tell whether ``new`` keeps every byte of ``old`` (uint8, of equal length) that no store covers."""
    for start in range(0, len(new), _PART):
        changed = new[start : start + _PART] != old[start : start + _PART]
        for placed in stores:
            _allow(changed, placed, start, whole=len(changed) == len(old))
        if changed.any():
            return False
    return True


def _allow(changed: np.ndarray, placed: Placed, start: int, whole: bool) -> None:
    """Note that the bytes of a store may be ``changed`` (bool), in a part from byte ``start`` of the array, or in the ``whole``."""
    if whole:
        scatter(changed.view(np.uint8), placed.offsets, np.zeros(placed.offsets.shape, placed.component.bits_dtype))
    else:
        offsets = byte_offsets(placed.offsets, placed.component.bytes) - start
        changed[offsets[(offsets >= 0) & (offsets < len(changed))]] = False


def format_mismatch(mismatch: Mismatch, diagnosis: Sequence[str] = (), quotes: Sequence[str] = ()) -> str:
    """Return lines for people: what is wrong, the first wrong elements with expected and received values, and possible explanations.

    Args:
        mismatch: a mismatch found by ``compare``.
        diagnosis: sentences from cts.diagnosis.diagnose.diagnose.
        quotes: the requirement and position of the expectation, with their texts; without them, the message has only their ids.
    """
    lines = [mismatch.summary]
    listed = mismatch.elements[:_LISTED]
    several = mismatch.matrix is not None and mismatch.matrix.instance_count > 1
    places = [(f"instance {e.instance} " if several else "") + f"({e.row}, {e.column})" for e in listed]
    width = max(map(len, places), default=0)
    lines.extend(
        f"  {place:<{width}} at byte {element.offset}: {element.described(mismatch.kind)}"
        for place, element in zip(places, listed, strict=True)
    )
    if mismatch.matrix is not None and mismatch.count > len(listed):
        lines.append(f"  … and {mismatch.count - len(listed)} more")
    if mismatch.grounds:
        lines.append(f"  {mismatch.grounds}")
    authority = Authority(mismatch.requirement, mismatch.position)
    words = quotes or ((str(authority),) if authority != NO_AUTHORITY else ())
    lines.extend(f"  {'required by' if place == 0 else 'and'} {quote}" for place, quote in enumerate(words))
    lines.extend(f"  matches: {explanation}" for explanation in diagnosis)
    return "\n".join(lines)
