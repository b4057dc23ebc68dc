"""Execution modes of float arithmetic: the permitted results, with values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cts.verdict.expected import Exact, Interval
from generators.errors import Rule
from generators.numerics.formats import encode
from generators.program.float_controls import Modes, modes_of
from generators.types import COMPONENT_TYPES
from tests.broken_rules import breaks
from tests.float_rows import Row, controls

TINY = 2.0**-24  # the smallest denormal of f16
LEAST = 2.0**-14  # its smallest normal number
NAN = math.nan


def allowed(row: Row, *numbers: float | int) -> bool:
    """Return whether the elements of a row may be ``numbers``; integers are bits."""
    permitted = row.expectation().permitted
    component = permitted.component
    bits = [each if isinstance(each, int) else int(encode(component, np.array(each))) for each in numbers]
    return bool(permitted.contains(np.array(bits, component.bits_dtype).reshape(permitted.shape)).all())


def only(row: Row, number: float, *others: float) -> bool:
    """Return whether the only element of a row must be ``number``, and cannot be any of ``others``."""
    return allowed(row, number) and not any(allowed(row, other) for other in others)


@pytest.mark.parametrize(
    ("operation", "left", "right", "nearest", "toward_zero"),
    [
        ("add", 1.0, 2.0**-11, 1.0, 1.0),  # a tie goes to the even neighbour
        ("add", 1.0 + 2.0**-10, 2.0**-11, 1.0 + 2.0**-9, 1.0 + 2.0**-10),
        ("add", -1.0, -3 * 2.0**-12, -1.0 - 2.0**-10, -1.0),
        ("subtract", 2.0, 2.0**-11, 2.0, 2.0 - 2.0**-10),
        ("multiply", 1.0 + 2.0**-10, 1.5, 1.5 + 2.0**-9, 1.5 + 2.0**-10),
        ("times_scalar", 1.0 + 2.0**-10, -1.5, -1.5 - 2.0**-9, -1.5 - 2.0**-10),
    ],
)
def test_a_rounding_mode_leaves_one_result(operation, left, right, nearest, toward_zero):
    assert only(Row(operation, "f16", "rte16", [left], [right]), nearest, *({toward_zero} - {nearest}))
    assert only(Row(operation, "f16", "rtz16", [left], [right]), toward_zero, *({nearest} - {toward_zero}))


def test_the_mode_of_another_width_binds_nothing():
    row = Row("add", "f16", "rte32", [1.0 + 2.0**-10], [2.0**-11])
    assert allowed(row, 1.0 + 2.0**-10)
    assert allowed(row, 1.0 + 2.0**-9)


def test_overflow_rounds_as_ieee_754_says():
    assert only(Row("add", "f16", "rtz16", [65504.0], [65504.0]), 65504.0, math.inf)
    assert only(Row("add", "f16", "rte16 special16", [65504.0], [16.0]), math.inf, 65504.0, NAN)
    assert only(Row("add", "f16", "rte16 special16", [65504.0], [8.0]), 65504.0, math.inf)
    with breaks(Rule.OVERFLOW):
        Row("add", "f16", "rte16", [65504.0], [65504.0]).expectation()


def test_denorm_preserve_forbids_flushing():
    assert only(Row("add", "f16", "preserve16", [TINY], [2 * TINY]), 3 * TINY, 0.0, TINY)
    assert only(Row("multiply", "f16", "preserve16", [3 * TINY], [1024.0]), 3072 * TINY, 0.0)
    assert only(Row("negate", "f16", "preserve16", [TINY]), -TINY, 0.0)
    assert only(Row("convert", "f16", "preserve16 preserve32", [TINY], to="f32"), TINY, 0.0)


def test_denorm_flush_to_zero_demands_it_of_results_and_allows_it_of_operands():
    assert only(Row("add", "f16", "flush16", [TINY], [2 * TINY]), 0.0, 3 * TINY)
    assert only(Row("negate", "f16", "flush16", [TINY]), 0.0, -TINY)
    row = Row("add", "f16", "flush16", [LEAST], [TINY])
    assert allowed(row, LEAST)
    assert allowed(row, LEAST + TINY)


def test_a_result_that_rounds_up_to_the_smallest_normal_number_may_be_flushed():
    half = Row("multiply", "f16", "rte16 flush16", [1 - 2.0**-11], [LEAST])
    assert allowed(half, LEAST)
    assert allowed(half, 0.0)
    assert only(Row("multiply", "f16", "rte16 preserve16", [1 - 2.0**-11], [LEAST]), LEAST, 0.0, LEAST - TINY)
    assert only(Row("multiply", "f16", "rtz16 preserve16", [1 - 2.0**-11], [LEAST]), LEAST - TINY, LEAST)


def test_moves_keep_denormals_even_where_arithmetic_flushes_them():
    row = Row("move", "f16", "flush16", [TINY])
    assert only(row, TINY, 0.0)
    assert row.expectation().authority.requirement == "KHR-FC-03"


@pytest.mark.parametrize(
    ("operation", "left", "right", "result", "others"),
    [
        ("add", -0.0, -0.0, -0.0, [0.0]),
        ("subtract", -0.0, 0.0, -0.0, [0.0]),
        ("multiply", -0.0, 3.0, -0.0, [0.0]),
        ("divide", 0.0, -3.0, -0.0, [0.0]),
        ("negate", 0.0, None, -0.0, [0.0]),
        ("add", math.inf, 1.0, math.inf, [65504.0, NAN]),
        ("add", math.inf, -math.inf, NAN, [0.0, math.inf]),
        ("multiply", 0.0, math.inf, NAN, [0.0]),
        ("divide", -math.inf, 3.0, -math.inf, [-65504.0]),
        ("multiply", NAN, 0.0, NAN, [0.0]),
        ("times_scalar", NAN, 2.0, NAN, [0.0, math.inf]),
    ],
)
def test_special_values_are_those_of_ieee_754(operation, left, right, result, others):
    row = Row(operation, "f16", "special16", [left], [] if right is None else [right])
    assert only(row, result, *others)
    assert row.expectation().authority.requirement == "KHR-FC-02"


def test_a_difference_of_equal_numbers_has_a_sign_only_where_the_rounding_does():
    assert allowed(Row("subtract", "f16", "special16", [3.0], [3.0]), -0.0)
    assert only(Row("subtract", "f16", "special16 rte16", [3.0], [3.0]), 0.0, -0.0)


def test_without_the_mode_zeros_have_no_sign_and_infinities_are_refused():
    assert allowed(Row("negate", "f16", "rte16", [0.0]), 0.0)
    with breaks(Rule.NOT_FINITE):
        Row("negate", "f16", "rte16", [math.inf]).expectation()


def test_a_nan_that_is_moved_should_keep_its_bits_and_must_stay_nan():
    expectation = Row("move", "f16", "special16", [0x7D01, 0xFC01, 0x8000]).expectation()
    kept, quiet, lost = (np.array([[row]], np.uint16) for row in ([0x7D01, 0xFC01, 0x8000], [0x7F01, 0xFE01, 0x8000], [0x7C00, 0, 0]))
    assert expectation.expected.contains(kept).all()
    assert expectation.permitted.contains(quiet).all()
    assert expectation.expected.contains(quiet).tolist() == [[[False, False, True]]]
    assert not expectation.permitted.contains(lost).any()
    assert (expectation.authority.requirement, expectation.authority.position) == ("KHR-FC-01", "F-KHR-33")


def test_without_the_mode_a_move_expects_no_bits_of_nan():
    expectation = Row("move", "f16", "rte16", [0x7D01]).expectation()
    assert expectation.permitted is expectation.expected


def test_a_conversion_must_not_make_infinity_of_a_nan():
    row = Row("convert", "f32", "special16 special32", [0x7F800001], to="f16")
    assert allowed(row, NAN)
    assert not allowed(row, math.inf)


def test_conversions_round_as_both_widths_say():
    tie = 1.0 + 2.0**-10 + 2.0**-11
    assert only(Row("convert", "f32", "rte16 rte32", [tie], to="f16"), 1.0 + 2.0**-9, 1.0 + 2.0**-10)
    assert only(Row("convert", "f32", "rtz16 rtz32", [tie], to="f16"), 1.0 + 2.0**-10, 1.0 + 2.0**-9)
    assert only(Row("convert", "f32", "rtz16 rtz32", [65519.0], to="f16"), 65504.0, math.inf)
    with breaks(Rule.WIDTHS_DIFFER):
        Row("convert", "f32", "rte16 rtz32", [tie], to="f16").expectation()


def test_rounding_modes_do_not_affect_bfloat16():
    row = Row("convert", "f32", "rte16 rte32", [1.0 + 2.0**-9], to="bf16")
    assert allowed(row, 1.0)
    assert allowed(row, 1.0 + 2.0**-7)
    assert modes_of(controls("rte16 flush16 special16"), COMPONENT_TYPES["bf16"]) == Modes(special=True)


def test_division_is_bound_only_by_flushing_and_special_values():
    flushed = Row("divide", "f32", "flush32", [2.0**-120], [2.0**8]).expectation().permitted
    assert isinstance(flushed, Interval)
    assert (flushed.low.item(), flushed.high.item()) == (0.0, 0.0)
    assert isinstance(Row("divide", "f32", "rte32", [1.0], [3.0]).expectation().permitted, Interval)
    assert isinstance(Row("divide", "f32", "special32", [math.inf], [3.0]).expectation().permitted, Exact)
    with breaks(Rule.DENORMAL_RESULT):
        Row("divide", "f32", "preserve32", [2.0**-120], [2.0**8]).expectation()


@pytest.mark.parametrize("modes", ["rte16 rtz16", "preserve16 flush16"])
def test_modes_that_exclude_each_other_are_refused(modes):
    with breaks(Rule.MODES_CONFLICT):
        modes_of(controls(modes), COMPONENT_TYPES["f16"])
