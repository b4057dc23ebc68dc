"""Tensors of blocks, with sizes that need not be multiples of the block size, and slices that begin and end within blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from generators.layouts.sliced_tensors import SlicedTensor, counts_of
from generators.layouts.tensor_writer import LayoutStep
from generators.layouts.tensors import row_major

_BEFORE = {"far": 259, "deep": (1 << 16) + 259}
"""Number of blocks before a slice far from the start: more than 8 bits, or 16 bits, can count."""


Last = Literal["whole", "short", "one"]
"""The last block of each dimension: it has all elements, lacks one, or has only one."""

Place = Literal["straddle", "aligned", "end", "far", "deep", "over", "periods", "split"]
"""Places of a slice: from the middle of a block, from the start of a block, at the end of the tensor, after more blocks than 8 bits (far)
or 16 bits (deep) can count, across the edges, across several periods of the tensor, or from the last element of a block."""


@dataclass(frozen=True)
class BlockSetting:
    """How a layout gets its block size.

    Attributes:
        when: before the dimensions, after them, or both before and after them and again before other dimensions.
        strided: whether explicit strides follow.
    """

    when: Literal["before", "after", "again"]
    strided: bool = False


@dataclass(frozen=True)
class ViewUse:
    """The tensor view of a case.

    Attributes:
        permuted: whether it reverses the dimensions of the layout.
        clipped: whether it has a clip window.
        own: its own dimensions, and their order or strides: even rows of the matrix are the first half of the slice, and odd rows the
            second (``rows``); even columns are the first half of each line (``columns``); both halves of the rows are the first half of the
            slice (``again``). None if it has the layout's.
    """

    permuted: bool = False
    clipped: bool = False
    own: Literal["rows", "columns", "again"] | None = None

    @property
    def is_there(self) -> bool:
        """Whether the case has a view at all."""
        return self != ViewUse()


@dataclass(frozen=True, kw_only=True)
class BlockedTensor(SlicedTensor):
    """A tensor of blocks and a slice of it.

    Attributes:
        setting: how the layout gets its block size.
        steps: the steps that set up the layout, except its slice.
    """

    setting: BlockSetting
    steps: tuple[LayoutStep, ...]

    @property
    def rounds_strides(self) -> bool:
        """Whether default strides count partial blocks at the end of a line (TA-DIM-03). The first dimension does not affect them."""
        if self.setting.strided or self.setting.when == "after":
            return False
        return any(size % block for size, block in zip(self.sizes[1:], self.blocks[1:], strict=True))


def full_block(given: tuple[int, ...], rank: int) -> tuple[int, ...] | None:
    """Return the block sizes of all dimensions, given the sizes of the last ones; None if there are more sizes than dimensions."""
    return None if len(given) > rank else (1,) * (rank - len(given)) + given


def parse_block(text: str) -> tuple[int, ...]:
    """Return the sizes that ``2x4`` names; raises ValueError."""
    sizes = tuple(int(size) for size in text.split("x"))
    if len(sizes) > 5 or min(sizes) < 1:
        raise ValueError("expected the sizes of 1 to 5 dimensions, such as 2x4")
    return sizes


def _dimension(last: Last, place: Place, number: int, rank: int, span: int, block: int) -> tuple[int, int]:
    """Return the size and offset of a dimension; ``number`` is 0 for the last one.

    If a slice exceeds the dimensions, it does so after the last block in the last dimension, before the first block in the dimension before
    it, and so on alternately. A slice far from the start is far in the first dimension.
    """
    if place == "periods":
        size = {"whole": 2 * block, "one": block + 1, "short": max(2, 2 * block - 1)}[last]
        return size, -(2 * size + 1) if number % 2 == 0 else 2 * size + 1
    offset = block if place == "aligned" else block - (1 if place == "split" else min(block // 2, span // 2))
    if number == rank - 1:
        offset += _BEFORE.get(place, 0) * block
    count = -(-(offset + span) // block) + 1
    size = {"whole": count * block, "one": (count - 1) * block + 1, "short": count * block - (block > 1)}[last]
    if place == "end":
        offset = size - span
    if place == "over":
        half = (span + 1) // 2
        offset = size - half if number % 2 == 0 else -half
    return size, offset


def blocked_tensor(block: tuple[int, ...], spans: Sequence[int], last: Last, place: Place, setting: BlockSetting) -> BlockedTensor:
    """Return a tensor with a slice of ``spans`` elements and blocks of the size ``block``, in each dimension."""
    rank = len(block)
    dimensions = [_dimension(last, place, rank - 1 - i, rank, span, b) for i, (span, b) in enumerate(zip(spans, block, strict=True))]
    sizes, offsets = tuple(size for size, _ in dimensions), tuple(offset for _, offset in dimensions)
    counts = counts_of(sizes, block)
    # Without explicit strides a layout keeps the default strides; they count elements if the block size came after the dimensions
    # (F-TA-14).
    strides = row_major(sizes if setting.when == "after" and not setting.strided else counts, padded=setting.strided)
    steps: list[LayoutStep] = [("dimension", sizes), ("block_size", block)]
    if setting.when == "before":
        steps.reverse()
    if setting.when == "again":
        other = tuple(b + 1 for b in block)
        steps = [("block_size", other), ("dimension", sizes), ("block_size", block), ("dimension", sizes)]
    if setting.strided:
        steps.append(("stride", strides))
    return BlockedTensor(sizes, offsets, tuple(spans), strides, block, setting=setting, steps=tuple(steps))
