import numpy as np
import pytest

from generators.inputs import integers
from generators.inputs.products import Chain
from generators.property_rows import parse_row

SATURATING = [
    "16x16x16.s8.s8.s32.s32.sat",
    "16x16x16.u8.s8.s32.s32.sat",
    "16x16x16.u8.u8.u32.u32.sat",
    "16x16x16.s8.s8.s16.s16.sat",
    "16x16x16.u16.u16.u16.u16.sat",
    "16x16x16.s64.s64.s64.s64.sat",
    "16x16x16.u64.u64.u64.u64.sat",
]


def wide(drawn):
    return tuple(m.astype(object) for m in (drawn.a[:, 0], drawn.b[:, 0], drawn.c))


def limits(row):
    info = np.iinfo(row.result.dtype)
    return int(info.min), int(info.max)


@pytest.mark.parametrize("text", SATURATING)
@pytest.mark.parametrize("end", ["high", "low", "inside", "crossing"])
def test_products_never_leave_the_results_range_in_any_order(text, end):
    row = parse_row(text)
    if end == "low" and not row.result.is_signed:
        pytest.skip("an unsigned sum cannot fall below its range without A x B doing so")
    a, b, _ = wide(integers.saturating(Chain(row, 2, 1), np.random.default_rng(1), end))
    assert (np.abs(a) @ np.abs(b)).max() <= limits(row)[1]


@pytest.mark.parametrize("text", SATURATING)
def test_high_data_pass_the_highest_value_in_most_places_and_just_reach_it_in_some(text):
    row = parse_row(text)
    a, b, c = wide(integers.saturating(Chain(row, 2, 1), np.random.default_rng(2), "high"))
    total = a @ b + c
    highest = limits(row)[1]
    assert (total > highest).any()
    assert (total == highest).any()
    assert (total < highest).any()


@pytest.mark.parametrize("text", [t for t in SATURATING if parse_row(t).result.is_signed])
def test_low_data_pass_the_lowest_value_in_most_places(text):
    row = parse_row(text)
    a, b, c = wide(integers.saturating(Chain(row, 2, 1), np.random.default_rng(2), "low"))
    total = a @ b + c
    assert (total < limits(row)[0]).any()
    assert (total == limits(row)[0]).any()


@pytest.mark.parametrize("text", [t for t in SATURATING if parse_row(t).result.is_signed])
def test_crossing_data_stay_inside_except_for_a_part_of_the_sum(text):
    row = parse_row(text)
    a, b, c = wide(integers.saturating(Chain(row, 2, 1), np.random.default_rng(2), "crossing"))
    lowest, highest = limits(row)
    total = a @ b + c
    clamped = c
    for k in range(row.k):
        clamped = np.clip(clamped + a[..., :, k : k + 1] * b[..., k : k + 1, :], lowest, highest)
    inside = (total >= lowest) & (total <= highest)
    assert inside.mean() > 0.9
    assert (clamped[inside] != total[inside]).mean() > 0.5


def test_edges_make_sums_wrap():
    row = parse_row("16x16x16.s8.s8.s32.s32")
    a, b, c = wide(integers.edges(Chain(row, 1, 1), np.random.default_rng(4)))
    total = a @ b + c
    assert ((total > limits(row)[1]) | (total < limits(row)[0])).mean() > 0.2


def test_selecting_data_have_one_entry_in_each_row_of_a():
    row = parse_row("16x8x32.s8.s8.s32.s32")
    drawn = integers.selecting(Chain(row, 1, 1), np.random.default_rng(4))
    assert (np.count_nonzero(drawn.a[0, 0], axis=-1) == 1).all()
    assert len(np.unique(drawn.c)) == drawn.c.size
