"""Tensors of blocks: sizes that blocks need not divide, and slices that begin and end within blocks."""

from __future__ import annotations

from dataclasses import dataclass

from generators.layouts.tensor_slices import matrix_spans
from generators.layouts.tensor_writer import LayoutStep, slice_step
from generators.parameters.vocabulary import Values, shape_of

PLACES = ("aligned", "straddle", "end", "far", "over", "periods")
LAST = ("whole", "one", "short")
_FAR = 259
"""Blocks before a slice that is far behind the beginning: more than 8 bits count."""

SETTINGS = ("before", "after", "before_strided", "after_strided", "again")


@dataclass(frozen=True)
class BlockedTensor:
    """The tensor and the slice of a case.

    Attributes:
        block: the size of a block in each dimension.
        sizes, offsets, spans: in elements.
        strides: in blocks, those that the layout's steps lead to.
        steps: what sets up the layout.
    """

    block: tuple[int, ...]
    sizes: tuple[int, ...]
    offsets: tuple[int, ...]
    spans: tuple[int, ...]
    strides: tuple[int, ...]
    steps: tuple[LayoutStep, ...]

    @property
    def blocks(self) -> int:
        """From the first to behind the last one in memory, those between included."""
        return 1 + sum((-(-size // b) - 1) * stride for size, b, stride in zip(self.sizes, self.block, self.strides, strict=True))


def block_of(values: Values) -> tuple[int, ...] | None:
    """Block sizes of all dimensions: the label names those of the last ones. None if it names more than there are."""
    given = tuple(int(n) for n in str(values["block"]).split("x"))
    rank = int(values["rank"])
    return None if len(given) > rank else (1,) * (rank - len(given)) + given


def _dimension(values: Values, number: int, span: int, block: int) -> tuple[int, int]:
    """Size and offset of a dimension, ``number`` 0 for the last one. Where they hang over, the last dimension does so behind its last
    block, the one before it before its first, and so on in turn. A slice that is far behind the beginning is so in the first dimension."""
    last, place = values["last"], values["place"]
    if place == "periods":
        size = {"whole": 2 * block, "one": block + 1, "short": max(2, 2 * block - 1)}[last]
        return size, -(2 * size + 1) if number % 2 == 0 else 2 * size + 1
    offset = block if place == "aligned" else block - min(block // 2, span // 2)
    if place == "far" and number == int(values["rank"]) - 1:
        offset += _FAR * block
    count = -(-(offset + span) // block) + 1
    size = {"whole": count * block, "one": (count - 1) * block + 1, "short": count * block - (block > 1)}[last]
    if place == "end":
        offset = size - span
    if place == "over":
        half = (span + 1) // 2
        offset = size - half if number % 2 == 0 else -half
    return size, offset


def _adjacent(counts: tuple[int, ...], gap: int = 0) -> tuple[int, ...]:
    strides = [1] * len(counts)
    for dimension in range(len(counts) - 2, -1, -1):
        strides[dimension] = strides[dimension + 1] * counts[dimension + 1] + gap * (dimension + 1)
    return tuple(strides)


def blocked_tensor(values: Values) -> BlockedTensor | None:
    """What the axes ask for; None where they contradict each other."""
    block = block_of(values)
    rows, columns = shape_of(values)
    rank = int(values["rank"])
    if block is None or (rank == 5 and rows % 4):
        return None
    spans = matrix_spans(rows, columns, rank)
    places = [_dimension(values, rank - 1 - i, span, b) for i, (span, b) in enumerate(zip(spans, block, strict=True))]
    sizes, offsets = tuple(size for size, _ in places), tuple(offset for _, offset in places)
    counts = tuple(-(-size // b) for size, b in zip(sizes, block, strict=True))
    setting = values["setting"]
    strided = setting.endswith("_strided")
    # Without strides of its own a layout keeps those that SetDimension gave it: of elements, if the block size came later (F-TA-14).
    strides = _adjacent(counts, 1) if strided else _adjacent(sizes if setting == "after" else counts)
    steps: list[LayoutStep] = [("dimension", sizes), ("block_size", block)]
    if setting in ("before", "before_strided"):
        steps.reverse()
    if setting == "again":
        other = tuple(b + 1 for b in block)
        steps = [("block_size", other), ("dimension", sizes), ("block_size", block), ("dimension", sizes)]
    if strided:
        steps.append(("stride", strides))
    return BlockedTensor(block, sizes, offsets, spans, strides, tuple(steps))


def slice_of(tensor: BlockedTensor) -> LayoutStep:
    """The step that selects the slice."""
    return slice_step(tensor.offsets, tensor.spans)
