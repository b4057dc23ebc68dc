"""Tensors, and slices of them that a matrix fills."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from generators.layouts.tensor_writer import LayoutStep, slice_step
from generators.layouts.tensors import tensor_elements

ENDLESS = 0xFFFFFFFF
"""The size of a first dimension that has no end."""


def counts_of(sizes: Sequence[int], blocks: Sequence[int]) -> list[int]:
    """Return the number of blocks in each dimension."""
    return [-(-size // block) for size, block in zip(sizes, blocks, strict=True)]


@dataclass(frozen=True)
class SlicedTensor:
    """A tensor and a slice of it, with one number for each dimension.

    Attributes:
        sizes, offsets, spans: the dimensions of the tensor, and the numbers of the slice, in elements.
        strides: in elements, or in blocks if the tensor consists of blocks.
        blocks: the sizes of a block; empty for no blocks.
    """

    sizes: tuple[int, ...]
    offsets: tuple[int, ...]
    spans: tuple[int, ...]
    strides: tuple[int, ...]
    blocks: tuple[int, ...] = ()

    @property
    def elements(self) -> int:
        """Number of elements (blocks) in memory from the first one of the tensor to its last, both included; for an endless tensor, to the
        slice's last."""
        first = self.offsets[0] + self.spans[0] if self.sizes[0] == ENDLESS else self.sizes[0]
        sizes = (first, *self.sizes[1:])
        return tensor_elements(counts_of(sizes, self.blocks) if self.blocks else sizes, self.strides)

    @property
    def is_outside(self) -> bool:
        """Whether no element of the slice is in the tensor."""
        dimensions = zip(self.offsets, self.spans, self.sizes, strict=True)
        return any(offset + span <= 0 or offset >= size for offset, span, size in dimensions)

    @property
    def slice(self) -> LayoutStep:
        """The step that selects the slice."""
        return slice_step(self.offsets, self.spans)


def matrix_spans(rows: int, columns: int, rank: int) -> tuple[int, ...]:
    """Return the spans of a slice with ``rank`` dimensions, 1 to 5, and as many elements as a matrix of this shape.

    Neighbouring spans differ where they can. With 5 dimensions the number of rows must be a multiple of 4.
    """
    match rank:
        case 1:
            return (rows * columns,)
        case 2:
            return rows, columns
        case 3:
            return 2, rows // 2, columns
        case 4:
            return 2, rows // 2, columns // 2, 2
        case _:
            return 2, rows // 4, 2, columns // 2, 2


def long_spans(rows: int, columns: int, rank: int) -> tuple[int, ...]:
    """Return the spans of such a slice with a whole line of the matrix in the last dimension.

    With 3 dimensions the number of rows must be a multiple of 2, with 4 of 4, and with 5 of 8.
    """
    match rank:
        case 4:
            return 2, rows // 4, 2, columns
        case 5:
            return 2, 2, rows // 8, 2, columns
        case _:
            return matrix_spans(rows, columns, rank)
