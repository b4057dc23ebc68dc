"""Tensors of blocks: sizes that blocks need not divide, and slices that begin and end within blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from generators.layouts.tensor_writer import LayoutStep, TensorWriter, slice_step
from generators.layouts.tensors import row_major, tensor_elements
from generators.program.values import TensorView, TensorViewType

_BEFORE = {"far": 259, "deep": (1 << 16) + 259}
"""Blocks before a slice that is far from the beginning: more than 8 bits count, or 16."""


Last = Literal["whole", "short", "one"]
"""The last block of each dimension: it has all elements, lacks one, or has one."""

Place = Literal["straddle", "aligned", "end", "far", "deep", "over", "periods", "split"]
"""Where a slice is: from the middle of a block, from the beginning of one, at the end of the tensor, after more blocks than 8 bits (far) or
16 bits (deep) count, over the edges, over several periods of the tensor, or from the last element of a block."""


@dataclass(frozen=True)
class BlockSetting:
    """How a layout gets its block size.

    Attributes:
        when: before the dimensions, after them, or before and after and before other dimensions again.
        strided: whether explicit strides follow.
    """

    when: Literal["before", "after", "again"]
    strided: bool = False


@dataclass(frozen=True)
class ViewUse:
    """The tensor view of a case: whether it permutes dimensions, and whether it has a clip window."""

    permuted: bool = False
    clipped: bool = False

    @property
    def is_there(self) -> bool:
        """Whether the case has a view at all."""
        return self.permuted or self.clipped


@dataclass(frozen=True)
class BlockedTensor:
    """A tensor of blocks and a slice of it.

    Attributes:
        block: the size of a block in each dimension.
        sizes, offsets, spans: in elements.
        strides: in blocks, as the layout's steps leave them.
        setting: how the layout gets its block size.
        steps: set up the layout, except its slice.
    """

    block: tuple[int, ...]
    sizes: tuple[int, ...]
    offsets: tuple[int, ...]
    spans: tuple[int, ...]
    strides: tuple[int, ...]
    setting: BlockSetting
    steps: tuple[LayoutStep, ...]

    @property
    def blocks(self) -> int:
        """Blocks of memory from the first block of the tensor to its last, both included."""
        counts = [-(-size // block) for size, block in zip(self.sizes, self.block, strict=True)]
        return tensor_elements(counts, self.strides)

    @property
    def rounds_strides(self) -> bool:
        """Whether default strides count blocks of which the last of a line is not whole (TA-DIM-03). The first dimension has no part in
        them."""
        if self.setting.strided or self.setting.when == "after":
            return False
        return any(size % block for size, block in zip(self.sizes[1:], self.block[1:], strict=True))


def full_block(given: tuple[int, ...], rank: int) -> tuple[int, ...] | None:
    """Return the block sizes of all dimensions, from those of the last ones; None if there are more than dimensions."""
    return None if len(given) > rank else (1,) * (rank - len(given)) + given


def parse_block(text: str) -> tuple[int, ...]:
    """Return the sizes that ``2x4`` names; raises ValueError."""
    sizes = tuple(int(size) for size in text.split("x"))
    if len(sizes) > 5 or min(sizes) < 1:
        raise ValueError("expected the sizes of 1 to 5 dimensions, such as 2x4")
    return sizes


def _dimension(last: Last, place: Place, number: int, rank: int, span: int, block: int) -> tuple[int, int]:
    """Return size and offset of a dimension, ``number`` 0 for the last one.

    Of dimensions that a slice hangs over, the last one is after its last block, the one before it before its first, and so on in turn. A
    slice that is far from the beginning is so in the first dimension.
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
    counts = tuple(-(-size // b) for size, b in zip(sizes, block, strict=True))
    # Without explicit strides a layout keeps the default ones: of elements, if the block size came after the dimensions (F-TA-14).
    strides = row_major(sizes if setting.when == "after" and not setting.strided else counts, padded=setting.strided)
    steps: list[LayoutStep] = [("dimension", sizes), ("block_size", block)]
    if setting.when == "before":
        steps.reverse()
    if setting.when == "again":
        other = tuple(b + 1 for b in block)
        steps = [("block_size", other), ("dimension", sizes), ("block_size", block), ("dimension", sizes)]
    if setting.strided:
        steps.append(("stride", strides))
    return BlockedTensor(block, sizes, offsets, tuple(spans), strides, setting, tuple(steps))


def slice_of(tensor: BlockedTensor) -> LayoutStep:
    """Return the step that selects the slice."""
    return slice_step(tensor.offsets, tensor.spans)


def matrix_view(writer: TensorWriter, shape: tuple[int, int], rank: int, use: ViewUse) -> TensorView | None:
    """Return the view of a load of a matrix of ``shape``, None for none. A clip window leaves out the matrix's first and last rows and
    columns."""
    if not use.is_there:
        return None
    rows, columns = shape
    order = tuple(range(rank))
    type_ = TensorViewType(order[::-1] if use.permuted else order)
    return writer.view("view", type_, ("clip", (1, rows - 3, 2, columns - 3))) if use.clipped else writer.view("view", type_)
