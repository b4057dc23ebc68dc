"""Conversions of layouts show known defects, and their diagnosis names them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from cts.defects.layout_conversions import Span, layout_conversion_defects
from cts.diagnosis.layout_conversions import diagnose_conversion
from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import Faults
from cts.embedded.layout_conversion import converted, places_of_elements, size_of_matrix, written
from cts.embedded.profile import load_profile
from cts.kinds.conversion import judge
from cts.kinds.kind import Stopwatch
from cts.verdict.effort import Effort
from cts.verdict.elements import gather, scatter
from cts.verdict.verdict import Judgement, Verdict
from generators.casebook import find_case
from generators.layout_conversion import FLOAT8
from generators.numerics.formats import largest_finite, values
from generators.numerics.rounding import toward_zero
from generators.types import COMPONENT_TYPES, VectorMatrixLayout
from tests.families.conversion_spans import FAMILY, Ideal, conversion_kill_table, ideal_spans
from tests.suite import casebook

ROW, COLUMN, INFERENCING, TRAINING = VectorMatrixLayout
OTHER = {"e4m3": "e5m2", "e5m2": "e4m3"}


def test_every_kind_of_defect_is_seen_by_two_smoke_cases() -> None:
    table = conversion_kill_table("smoke")
    assert table
    assert not [(kind, shown) for _, kind, _, shown, _ in table if shown < 2]


@cache
def spans() -> tuple[Ideal, ...]:
    ids = (
        "types:f16.f16.f16/layouts:row-inferencing-row",
        "types:f16.e4m3.f16/layouts:column-training-row/size:5x16/commands:device/matrices:5",
        "types:f32.e5m2.f32/layouts:row-inferencing-row/size:31x33/data:ties",
        "types:f32.f16.f32/layouts:row-column-row/size:67x61/data:beyond",
        "types:f16.e4m3.f16/layouts:row-training-column/size:67x61/data:beyond",
    )
    return tuple(ideal for id_ in ids for ideal in ideal_spans(find_case(casebook(), f"{FAMILY}[{id_}]")))


def test_a_defect_alone_is_named() -> None:
    """A visible defect is among the explanations of its result, with only a few others that have the same result."""
    named = Counter[int]()
    for ideal in spans():
        number = len(ideal.placed) - 1
        one, before = ideal.placed[number], ideal.before[number]
        for defect in layout_conversion_defects(ideal.span):
            bits, known = defect.converter.result(ideal.span, number, before)
            if one.expected.contains(bits[None]).all() or not known.all():
                continue
            after = before.copy()
            scatter(after, one.offsets[0], bits)
            matches = diagnose_conversion(ideal.span, number, one, before, after)
            assert (defect.id, defect.text) in {(match.id, match.sentence) for match in matches}, (defect, matches)
            named[len(matches)] += 1
    assert named[1] > 50
    assert max(named) <= 2


Fault = Callable[[Callable[..., object]], Callable[..., object]]


def judged(parameters: str, device) -> Judgement:
    return judge(find_case(casebook(), f"{FAMILY}[{parameters}]"), device, "spirv", Stopwatch(), Effort())


def wrong_device(operation: Callable[..., object], fault: Fault) -> EmbeddedDevice:
    return EmbeddedDevice(load_profile("universal"), strict=False, faults=Faults(operations={operation: fault}))


def cut(right):
    def wrong(elements, source, destination):
        if destination.bytes >= source.bytes:
            return right(elements, source, destination)
        numbers = values(elements, source)
        finite = np.isfinite(numbers)
        found = toward_zero(destination, np.where(finite, numbers, 0)).astype(destination.dtype).view(destination.bits_dtype)
        return np.where(finite & (np.abs(numbers) <= largest_finite(destination)), found, right(elements, source, destination))

    return wrong


def as_other_float8(right):
    """Write 8-bit elements in the other type."""
    return lambda elements, source, destination: (
        right(elements, source, COMPONENT_TYPES[OTHER[destination.name]])
        if destination.name in FLOAT8 and source is not destination
        else right(elements, source, destination)
    )


def unsigned_zeros(right):
    def wrong(elements, source, destination):
        bits = right(elements, source, destination)
        return bits if source is destination else np.where(bits == 1 << destination.bits - 1, 0, bits).astype(bits.dtype)

    return wrong


def copied(right):
    return lambda elements, source, destination: elements.astype(destination.bits_dtype)


def close_together(right):
    return lambda layouts, form, rows, columns: right(
        layouts, form if form.layout.is_optimal else replace(form, stride=form.line(rows, columns)), rows, columns
    )


def swapped_targets(right):
    """Swap row-major and column-major in every second use of these layouts, which is the use for writing."""
    calls: list[object] = []

    def wrong(layouts, form, rows, columns):
        if form.layout.is_optimal:
            return right(layouts, form, rows, columns)
        calls.append(form)
        return right(layouts, replace(form, layout=VectorMatrixLayout(1 - form.layout)) if len(calls) % 2 == 0 else form, rows, columns)

    return wrong


def last_column_kept(right):
    def wrong(memory, places, elements, form):
        kept = places if form.layout.is_optimal else places[:, :-1]
        right(memory, kept, elements if form.layout.is_optimal else elements[:, :-1], form)

    return wrong


def tight_size(right):
    return lambda layouts, form, rows, columns: (
        right(layouts, form, rows, columns) if form.layout.is_optimal else rows * columns * form.component.bytes
    )


ROUNDED = [
    "types:f16.e4m3.f16/layouts:row-inferencing-row/size:31x33/data:ties",
    "types:f32.e5m2.f32/layouts:row-training-column/size:67x61/data:ties",
]
MOVED = ["types:f16.f16.f16/layouts:row-inferencing-row", "types:s8.s8.s8/layouts:column-row-column/size:16x5"]


@pytest.mark.parametrize(
    ("operation", "fault", "cases", "id_"),
    [
        (converted, cut, ROUNDED, "rounded"),
        (converted, as_other_float8, ROUNDED, "other_float8"),
        (converted, copied, ROUNDED, "not_converted"),
        (places_of_elements, close_together, MOVED, "stride_ignored"),
        (places_of_elements, swapped_targets, MOVED[:1], "layout_swapped"),
        (written, last_column_kept, MOVED, "last_line_unwritten"),
    ],
)
def test_a_wrong_device_is_diagnosed(operation: Callable[..., object], fault: Fault, cases: Sequence[str], id_: str) -> None:
    for case in cases:
        result = judged(case, wrong_device(operation, fault))
        assert result.verdict is Verdict.FAIL
        assert f"layout_conversion.{id_}" in {match.id for failure in result.failures for match in failure.matches}, case
        assert "matches: " in result.message
        assert "matches: " in result.reason


def test_zeros_without_a_sign_are_named_in_the_warning() -> None:
    result = judged("types:f16.e4m3.f16/layouts:row-inferencing-row", wrong_device(converted, unsigned_zeros))
    assert result.code == "quality_warning.F-CV-8"
    assert result.failures
    assert {match.id for failure in result.failures for match in failure.matches} == {"layout_conversion.zeros_positive"}
    assert "matches: -0 becomes 0" in result.reason


def test_a_size_without_padding_is_named() -> None:
    result = judged(
        MOVED[0], EmbeddedDevice(load_profile("universal"), strict=False, faults=Faults(operations={size_of_matrix: tight_size}))
    )
    assert result.code == "fail.conversion.size"
    assert "matches: the size belongs to a matrix whose rows or columns are contiguous" in result.message


def crossed() -> Ideal:
    id_ = "types:f16.e4m3.f16/layouts:row-training-column/size:31x33/source_stride:tight/result_stride:tight/commands:alternate"
    (ideal,) = ideal_spans(find_case(casebook(), f"{FAMILY}[{id_}]"))
    return ideal


def left(ideal: Ideal, bits: np.ndarray) -> np.ndarray:
    after = ideal.before[0].copy()
    scatter(after, ideal.placed[0].offsets[0], bits)
    return after


def test_a_layout_that_the_other_command_permutes_is_named() -> None:
    ideal = crossed()
    permuted = np.random.default_rng(1).permutation(ideal.placed[0].expected.bits[0].ravel()).reshape(31, 33)
    permuted[:3] = 0
    matches = diagnose_conversion(ideal.span, 0, ideal.placed[0], ideal.before[0], left(ideal, permuted))
    assert [match.id for match in matches] == ["outcome.elsewhere_by_other_command"]
    assert "vkCmdConvertCooperativeVectorMatrixNV has read" in matches[0].sentence
    same = replace(ideal.span, commands=("device", "device"))
    matches = diagnose_conversion(same, 0, ideal.placed[0], ideal.before[0], left(ideal, permuted))
    assert [match.id for match in matches] == ["outcome.elsewhere_when_optimal"]


def test_a_matrix_whose_type_was_not_converted_is_named() -> None:
    """The host leaves f16 where e4m3 should be, so the device reads pairs of bytes."""
    ideal = crossed()
    span: Span = ideal.span
    given = gather(span.sources[0], span.forms[0].offsets(31, 33), span.forms[0].component)
    small = np.ascontiguousarray(given).view(np.uint8)[:, :33]
    received = small.view(COMPONENT_TYPES["e4m3"].dtype).astype(np.float16).view(np.uint16)
    received[24:, 2:16] = 0
    matches = diagnose_conversion(span, 0, ideal.placed[0], ideal.before[0], left(ideal, received))
    assert matches[0].id == "outcome.bytes_of_given"
    assert "read as e4m3" in matches[0].sentence
