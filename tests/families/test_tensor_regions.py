"""Slices of every kind are in the stated places, and their instructions produce exactly these slices."""

from itertools import product
from math import prod
from typing import get_args

import pytest

from generators.families.nv_cooperative_matrix2.tensor_layout.regions import (
    BlockKind,
    OffsetKind,
    Order,
    SliceKind,
    SpanKind,
    StrideKind,
    layout_steps,
    region_of,
    slice_steps,
    spans_of,
)
from tests.reference.tensors import layout, numbers

KINDS = [kind for kind in product(get_args(SpanKind), [(8, 8), (16, 32)], range(1, 6)) if spans_of(kind[0], *kind[1], kind[2])]
ENDS = [
    (order, strides, blocks, rank)
    for order, strides, blocks, rank in product(get_args(Order), ("default", "padded", "far"), get_args(BlockKind), (1, 2, 4))
    if (blocks != "none" or not order.startswith("block"))
    and (strides != "default" or order not in ("slice_then_stride", "stride_twice", "block_between"))
]


@pytest.mark.parametrize(("span", "shape", "rank"), KINDS)
def test_spans_hold_the_matrix_or_do_not_as_they_say(span, shape, rank):
    spans, total = spans_of(span, *shape, rank), prod(shape)
    assert len(spans) == rank
    assert min(spans) >= 1
    match span:
        case "matrix" | "reshaped" | "thin":
            assert prod(spans) == total
        case "shorter":
            assert prod(spans) < total
        case _:
            assert prod(spans) > total
            assert rank == 1 or prod(spans[1:]) * (spans[0] - 1) < total


@pytest.mark.parametrize(("span", "shape", "rank"), KINDS)
def test_slices_are_in_the_tensor_or_one_element_over_each_edge(span, shape, rank):
    spans = spans_of(span, *shape, rank)
    for offset, strides, blocks in product(get_args(OffsetKind), get_args(StrideKind), get_args(BlockKind)):
        region = region_of(spans, offset, True, strides, blocks)
        ends = [o + s - n for o, s, n in zip(region.offsets, spans, region.sizes, strict=True)]
        if offset == "over":
            assert all(end == 1 if d % 2 == 0 else o == -1 for d, (end, o) in enumerate(zip(ends, region.offsets, strict=True)))
        else:
            assert min(region.offsets) >= 0
            assert max(ends) <= 0
        if blocks != "none":
            divided = [n % b == 0 for n, b in zip(region.sizes, region.blocks, strict=True)]
            assert all(divided) if blocks == "even" else not any(divided)


@pytest.mark.parametrize("rank", range(1, 6))
@pytest.mark.parametrize("kind", get_args(SliceKind))
def test_offsets_of_slices_add_up(kind, rank):
    region = region_of(spans_of("matrix", 16, 16, rank), "inside", True, "default", "none")
    steps = slice_steps(kind, region)
    total = [sum(values[2 * d] for _, values in steps) for d in range(rank)]
    assert total == (list(region.offsets) if steps else [0] * rank)
    assert len(steps) == {"none": 0, "one": 1, "thrice": 3}.get(kind, 2)


@pytest.mark.parametrize(("order", "strides", "blocks", "rank"), ENDS)
def test_every_order_ends_at_the_same_layout(order, strides, blocks, rank):
    region = region_of(spans_of("odd", 16, 16, rank) or (300,), "inside", True, strides, blocks, strides_in_elements=order == "block_last")
    state = layout(rank, *layout_steps(region, "nested", order, strides, "none"))
    wanted = (region.sizes, region.offsets, region.spans, region.blocks, region.strides)
    got = (state.dimension, state.offset, state.span, state.block_size, state.stride)
    assert [tuple(numbers(part)) for part in got] == list(wanted)
