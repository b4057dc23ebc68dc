"""Tensors of blocks: sizes that blocks need not divide, and slices that begin and end within blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from generators.families.nv_cooperative_matrix2.tensor_block.parameters import Parameters
from generators.layouts.tensor_slices import matrix_spans
from generators.layouts.tensor_writer import LayoutStep, slice_step
from generators.layouts.tensors import row_major, tensor_elements

_BLOCKS_BEFORE: Mapping[str, int] = MappingProxyType({"far": 259, "remote": (1 << 16) + 3})
"""Blocks before a slice that is far from the beginning: more than 8 bits, or more than 16, count."""


@dataclass(frozen=True)
class BlockedTensor:
    """The tensor and the slice of a case.

    Attributes:
        block: the size of a block in each dimension.
        sizes, offsets, spans: in elements.
        strides: in blocks, as the layout's steps leave them.
        steps: set up the layout, except its slice.
    """

    block: tuple[int, ...]
    sizes: tuple[int, ...]
    offsets: tuple[int, ...]
    spans: tuple[int, ...]
    strides: tuple[int, ...]
    steps: tuple[LayoutStep, ...]

    @property
    def blocks(self) -> int:
        """Blocks of memory from the first block of the tensor to its last, both included."""
        counts = [-(-size // block) for size, block in zip(self.sizes, self.block, strict=True)]
        return tensor_elements(counts, self.strides)


def block_of(parameters: Parameters) -> tuple[int, ...] | None:
    """Return the block sizes of all dimensions; None if the case names more than there are."""
    given, rank = parameters.block, parameters.rank
    return None if len(given) > rank else (1,) * (rank - len(given)) + given


def _dimension(parameters: Parameters, number: int, span: int, block: int) -> tuple[int, int]:
    """Return size and offset of a dimension, ``number`` 0 for the last one.

    Of dimensions that a slice hangs over, the last one is after its last block, the one before it before its first, and so on in turn. A
    slice that is far from the beginning is so in the first dimension.
    """
    last, place = parameters.last, parameters.place
    if place == "periods":
        size = {"whole": 2 * block, "one": block + 1, "short": max(2, 2 * block - 1)}[last]
        return size, -(2 * size + 1) if number % 2 == 0 else 2 * size + 1
    offset = block if place == "aligned" else block - min(block // 2, span // 2)
    if place in _BLOCKS_BEFORE and number == parameters.rank - 1:
        offset += _BLOCKS_BEFORE[place] * block
    count = -(-(offset + span) // block) + 1
    size = {"whole": count * block, "one": (count - 1) * block + 1, "short": count * block - (block > 1)}[last]
    if place == "end":
        offset = size - span
    if place == "over":
        half = (span + 1) // 2
        offset = size - half if number % 2 == 0 else -half
    return size, offset


def blocked_tensor(parameters: Parameters) -> BlockedTensor | None:
    """Return the tensor and the slice of a case; None where the parameters contradict each other."""
    block = block_of(parameters)
    rows, columns = parameters.shape
    rank = parameters.rank
    if block is None or (rank == 5 and rows % 4):
        return None
    spans = matrix_spans(rows, columns, rank)
    dimensions = [_dimension(parameters, rank - 1 - i, span, b) for i, (span, b) in enumerate(zip(spans, block, strict=True))]
    sizes, offsets = tuple(size for size, _ in dimensions), tuple(offset for _, offset in dimensions)
    counts = tuple(-(-size // b) for size, b in zip(sizes, block, strict=True))
    setting = parameters.setting
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
    return BlockedTensor(block, sizes, offsets, spans, strides, tuple(steps))


def slice_of(tensor: BlockedTensor) -> LayoutStep:
    """Return the step that selects the slice."""
    return slice_step(tensor.offsets, tensor.spans)
