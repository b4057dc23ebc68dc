"""Tensors, their accessed slices, and the many ways to set up a layout that describes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from generators.layouts.sliced_tensors import SlicedTensor, counts_of, matrix_spans
from generators.layouts.tensor_writer import CLAMP_VALUE, LayoutStep, slice_step
from generators.layouts.tensors import row_major

SpanKind = Literal["matrix", "reshaped", "thin", "odd", "larger", "shorter"]
"""Slices: of the matrix's shape (``matrix``); of another shape with as many elements (``reshaped``, and ``thin`` with dimensions of 1); of
shorter or longer lines with at least as many elements (``odd``, ``larger``); or of too few elements (``shorter``)."""

OffsetKind = Literal["inside", "zero", "end", "over", "deep", "broad", "vast"]
"""Places of a slice: inside the tensor, at its start, at its end, or alternately across the end and the start of its dimensions. Or inside
a tensor whose first dimension (``deep``, and ``vast`` in a tensor of more than 2^25 elements) or last dimension (``broad``) exceeds 16
bits, after more elements than 16 bits can count."""

SliceKind = Literal["one", "none", "nested", "back", "forth", "thrice"]
"""One slice; none; one inside another; one that goes out of bounds before the start (``back``) or after the end (``forth``), followed by
one that goes back in; or three."""

Order = Literal[
    "plain",
    "dimension_again",
    "sliced_before",
    "stride_before",
    "slice_then_stride",
    "stride_twice",
    "block_last",
    "block_between",
    "block_twice",
]
"""The order of the instructions that set up a layout."""

StrideKind = Literal["default", "padded", "spread", "doubled", "far"]
"""Default strides, or others with gaps between lines (``padded``), between elements too (``spread``), everywhere (``doubled``), or with
more than 16 bits for the outermost dimension (``far``)."""

BlockKind = Literal["none", "even", "uneven"]
"""No blocks, blocks that divide the dimensions, or blocks that do not."""

ClampValueKind = Literal["none", "first", "second", "between", "last", "twice"]
"""The instruction that sets the clamp value."""

_MARGIN = (3, 5, 2, 4, 1)
"""The amounts by which each dimension exceeds the slice: all differ, so exchanged dimensions are noticed."""
_INSET = (2, 3, 1, 2, 1)
"""The offset of a slice inside the tensor; it differs from the offset of a slice at the end, unless there is no other."""
_LONG = 1 << 16
"""The amounts by which a dimension beyond 16 bits is longer than other dimensions, and by which its slice begins later."""
_WIDE = 1 << 9
"""The additional width of the last dimension in a tensor with more elements than 24 bits can count."""
_BLOCK = (2, 3, 5, 2, 3)
OTHER_CLAMP_VALUE = 0x6D4B2937
"""Bits that are a finite number in every float type, like CLAMP_VALUE, but a different one."""


def spans_of(kind: SpanKind, rows: int, columns: int, rank: int) -> tuple[int, ...] | None:
    """Return the spans of a slice for a matrix; None if there is no such slice of ``rank`` dimensions."""
    total = rows * columns
    match kind, rank:
        case "matrix", _:
            return matrix_spans(rows, columns, rank)
        case "larger" | "shorter", 1:
            return (total + 5,) if kind == "larger" else (3 * columns + 1,)
        case _, 1:
            return None
        case "reshaped", _:
            reshaped = (
                (rows * 2, columns // 2),
                (rows // 2, 4, columns // 2),
                (2, rows, 2, columns // 4),
                (rows // 4, 2, columns // 4, 2, 4),
            )
            return reshaped[rank - 2]
        case "thin", _:
            return ((total, 1), (rows, 1, columns), (1, rows, 1, columns), (1, rows, 1, columns, 1))[rank - 2]
        case "shorter", _:
            return ((rows // 2, columns - 1), (2, 3, columns - 1), (2, 2, 3, columns // 2), (2, 2, 2, 2, 3))[rank - 2]
    edge = 3 if kind == "larger" else -1
    inner = ((columns + edge,), (5, columns + edge), (3, columns // 2 + edge, 3), (2, 3, 3, columns // 2 + edge))[rank - 2]
    return -(-total // math.prod(inner)), *inner


def beyond_16_bits(kind: OffsetKind, rank: int) -> int | None:
    """Return the dimension whose length exceeds 16 bits; None for other kinds."""
    if kind == "broad":
        return rank - 1
    return 0 if kind in ("deep", "vast") else None


def _strides(kind: StrideKind, sizes: Sequence[int], blocks: Sequence[int]) -> tuple[int, ...]:
    strides = list(row_major(counts_of(sizes, blocks), kind in ("padded", "spread"), 3 if kind == "spread" else 1))
    if kind == "doubled":
        strides = [2 * stride for stride in strides]
    if kind == "far":
        strides[0] += 1 << 16
    return tuple(strides)


def region_of(
    spans: Sequence[int],
    offset: OffsetKind,
    sliced: bool,
    strides: StrideKind,
    blocks: BlockKind,
    strides_in_elements: bool = False,
    copies: int = 1,
    margin: int = 0,
) -> SlicedTensor:
    """Return the tensor around a slice of ``spans``.

    Args:
        spans: the spans of the slice.
        offset: its place.
        sliced: whether there is a slice; without one, the whole tensor is accessed.
        strides, blocks: the kinds of strides and blocks of the tensor.
        strides_in_elements: whether strides count elements even if there are blocks.
        copies: number of adjacent slices in the outermost dimension; ``offsets`` are of the first.
        margin: additional length of the innermost dimension.
    """
    sizes = [span + _MARGIN[d] if sliced else span for d, span in enumerate(spans)]
    sizes[0] += (copies - 1) * spans[0]
    sizes[-1] += margin
    long = beyond_16_bits(offset, len(spans))
    if long is not None:
        sizes[long] += _LONG
    if offset == "vast":
        sizes[-1] += _WIDE
    sizes_of_blocks = [1] * len(spans)
    if blocks != "none":
        for d, block in enumerate(_BLOCK[: len(spans)]):
            sizes_of_blocks[d] = block
            # Longer dimensions keep the slice inside.
            if blocks == "even":
                sizes[d] = -(-sizes[d] // block) * block
            elif sizes[d] % block == 0:
                sizes[d] += 1
    offsets = [_offset(offset, d, sizes[d] - (copies - 1) * spans[0] * (d == 0), span) if sliced else 0 for d, span in enumerate(spans)]
    step = _strides(strides, sizes, [1] * len(spans) if strides_in_elements else sizes_of_blocks)
    return SlicedTensor(tuple(sizes), tuple(offsets), tuple(spans), step, tuple(sizes_of_blocks))


def _offset(kind: OffsetKind, dimension: int, size: int, span: int) -> int:
    match kind:
        case "zero":
            return 0
        case "inside":
            return _INSET[dimension]
        case "deep" | "broad" | "vast":
            return _INSET[dimension] + (_LONG if size > _LONG else 0)
        case "end":
            return size - span
        case _:
            return size - span + 1 if dimension % 2 == 0 else -1


def slice_steps(kind: SliceKind, region: SlicedTensor) -> list[LayoutStep]:
    """Return slices whose offsets add up to the region's. The last has the region's spans; of the others, the first has larger spans and
    the second smaller spans."""
    wanted, sizes = region.offsets, region.sizes
    every = range(len(sizes))
    moves: list[list[int]] = []
    match kind:
        case "none":
            return []
        case "one":
            pass
        case "nested":
            moves = [[wanted[d] - 1 - d for d in every]]
        case "back":
            moves = [[-sizes[d] - 7 - d for d in every]]
        case "forth":
            moves = [[sizes[d] + 9 + d for d in every]]
        case _:
            moves = [[wanted[d] + 5 + d for d in every], [-2 * sizes[d] - d for d in every]]
    moves.append([wanted[d] - sum(move[d] for move in moves) for d in every])
    wide, narrow = [size + 3 + d for d, size in enumerate(sizes)], [1 + d % 2 for d in every]
    spans = [*(wide, narrow)[: len(moves) - 1], region.spans]
    return [slice_step(*slice_) for slice_ in zip(moves, spans, strict=True)]


def layout_steps(
    region: SlicedTensor, slices: SliceKind, order: Order, strides: StrideKind, clamp_value: ClampValueKind
) -> list[LayoutStep]:
    """Return the steps that make a new layout describe ``region``."""
    sizes = region.sizes
    others = [size + 4 + 2 * d for d, size in enumerate(sizes)]
    lost = slice_step([5 + d for d in range(len(sizes))], others)
    other_strides: LayoutStep = ("stride", [3 * stride for stride in _strides("padded", others, [1] * len(sizes))])
    dimension: LayoutStep = ("dimension", sizes)
    block: list[LayoutStep] = [] if set(region.blocks) == {1} else [("block_size", region.blocks)]
    stride: list[LayoutStep] = [] if strides == "default" else [("stride", region.strides)]
    sliced = slice_steps(slices, region)
    match order:
        case "dimension_again":
            steps = [("dimension", others), other_strides, lost, *block, dimension, *stride, *sliced]
        case "sliced_before":
            steps = [lost, *block, dimension, *stride, *sliced]
        case "stride_before":
            steps = [other_strides, *block, dimension, *stride, *sliced]
        case "slice_then_stride":
            steps = [*block, dimension, *sliced, *stride]
        case "stride_twice":
            steps = [*block, dimension, other_strides, *stride, *sliced]
        case "block_last":
            steps = [dimension, *stride, *sliced, *block]
        case "block_between":
            steps = [dimension, *block, *stride, *sliced]
        case "block_twice":
            steps = [("block_size", [4] * len(sizes)), *block, dimension, *stride, *sliced]
        case _:
            steps = [*block, dimension, *stride, *sliced]
    value: LayoutStep = ("clamp_value", (CLAMP_VALUE,))
    match clamp_value:
        case "none":
            return steps
        case "twice":
            return [("clamp_value", (OTHER_CLAMP_VALUE,)), *steps[:-1], value, steps[-1]]
        case _:
            at = {"first": 0, "second": 1, "between": len(steps) - 1}.get(clamp_value, len(steps))
            return [*steps[:at], value, *steps[at:]]
