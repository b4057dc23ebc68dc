"""Pictures of a failing array: its wrong elements, drawn and in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cts.pictures.drawing import draw
from cts.verdict.elements import number
from cts.verdict.failure import UNWRITTEN, Bounds, EnvelopeBounds, FailingMatrix, Failure, Mismatch, MismatchKind, WrongElement, bit_masks
from cts.verdict.sizes import MOST_SIDE
from cts.verdict.tensor_map import TensorMap
from generators.errors import CtsError
from generators.numerics.formats import values
from generators.types import COMPONENT_TYPES

PICTURE_PIXELS = 480
"""Maximum width and height of a picture, in CSS pixels."""

LEAST_PIXELS = 24
"""Minimum width and height of a picture: the elements of a narrow matrix are wide instead of the picture being high."""

CELL_PIXELS = 30
"""Maximum width and height of an element, in CSS pixels."""

LINES_PIXELS = 6
"""Width of an element below which lines between elements would hide them."""

TITLED_ELEMENTS = 128
"""Maximum number of elements in one picture that show their values; more would make the page heavy."""

INSTANCES = 4
"""Maximum number of scope instances of one array that are drawn."""

DRAWN_ELEMENTS = 1024
"""Maximum number of elements in a tensor that a page shows: each element is a square with its own text, and a run may have hundreds of
pages."""

LISTED_ELEMENTS = 64
"""Maximum number of wrong elements of an array that a page lists; the journal has more."""

_TICKS = 8


@dataclass(frozen=True)
class Picture:
    """The matrix of one scope instance.

    Attributes:
        width, height: in CSS pixels.
        wrong: number of wrong elements.
        path: SVG path data that covers the wrong elements, one unit per element.
        row_ticks, column_ticks: indices to write at the edges.
        lines: whether there is room for lines between elements.
        sparse: whether the wrong elements are so small and few that they need an outline to be seen.
        titles: (row, column, expected, got) of the first wrong elements, both sides in words; of elements that were not written, ``got``
            says so.
    """

    instance: int
    rows: int
    columns: int
    width: float
    height: float
    wrong: int
    path: str
    row_ticks: Sequence[int]
    column_ticks: Sequence[int]
    lines: bool
    sparse: bool
    titles: Sequence[tuple[int, int, str, str]]


@dataclass(frozen=True)
class FailingArray:
    """The contents of a failure on a page.

    Attributes:
        failure: the failure in the journal.
        elements: the first wrong elements.
        pictures: pictures of at most INSTANCES scope instances with wrong elements; none if the failure concerns bytes instead of a matrix.
        hidden: number of further scope instances with wrong elements.
        tensor: an SVG document of the first wrong instance's matrix in a tensor, with its wrong elements marked, for the first failing
            array of a page; empty if it is unknown or too large (``cts picture`` draws it).
    """

    failure: Failure
    elements: tuple[WrongElement, ...]
    pictures: tuple[Picture, ...]
    hidden: int
    tensor: str

    @property
    def mismatch(self) -> Mismatch:
        """Return the comparator's finding."""
        return self.failure.mismatch

    @property
    def unit(self) -> str:
        """Return the counted unit."""
        return "element" if self.mismatch.matrix is not None else "byte"


def failing_array(failure: Failure, place: int = 0) -> FailingArray:
    """Return the contents of a failure on a page; ``place`` is its index on the page."""
    mismatch = failure.mismatch
    matrix = mismatch.matrix
    if matrix is None:
        return FailingArray(failure, (), (), 0, "")
    return FailingArray(
        failure,
        mismatch.elements[:LISTED_ELEMENTS],
        tuple(_picture(mismatch, matrix, instance) for instance in list(matrix.instances)[:INSTANCES]),
        max(0, len(matrix.instances) - INSTANCES),
        _tensor(failure.tensor, matrix, f"tensor{place}") if failure.tensor is not None and place == 0 else "",
    )


def allowed(bounds: Bounds) -> str:
    """Return the interval of allowed values and its origin, with few digits; the journal has all."""
    text = f"allowed {bounds.low:.6g} to {bounds.high:.6g}, true value {bounds.center:.6g}"
    return f"{text}, bound {bounds.bound:.3g}, S {bounds.magnitude:.6g}" if isinstance(bounds, EnvelopeBounds) else text


def _tensor(tensor: TensorMap, matrix: FailingMatrix, name: str) -> str:
    columns = matrix.shape[1]
    sizes = (*tensor.dimensions, *tensor.span, *tensor.block_size)
    if math.prod(tensor.dimensions) > DRAWN_ELEMENTS or tensor.shape != matrix.shape or not all(1 <= size <= MOST_SIDE for size in sizes):
        return ""
    wrong = frozenset(row * columns + column for row, mask in enumerate(bit_masks(matrix.wrong)) for column in _columns(mask, columns))
    try:
        return draw(tensor, wrong, name)
    except CtsError:
        return ""


def _columns(mask: int, columns: int) -> list[int]:
    return [column for column in range(columns) if mask >> column & 1]


def _picture(mismatch: Mismatch, matrix: FailingMatrix, instance: int) -> Picture:
    rows, columns = matrix.shape
    masks = bit_masks(matrix.instances[instance])
    wrong = sum(mask.bit_count() for mask in masks)
    cell = min(CELL_PIXELS, PICTURE_PIXELS / max(rows, columns))
    width, height = max(cell, LEAST_PIXELS / columns), max(cell, LEAST_PIXELS / rows)
    return Picture(
        instance,
        rows,
        columns,
        round(width * columns, 1),
        round(height * rows, 1),
        wrong,
        _path(masks, columns),
        _ticks(rows, height),
        _ticks(columns, width),
        cell >= LINES_PIXELS,
        cell < LINES_PIXELS and wrong * 20 <= rows * columns,
        _titles(matrix, masks, mismatch.kind) if instance == mismatch.instance else (),
    )


def _titles(matrix: FailingMatrix, masks: Sequence[int], kind: MismatchKind) -> list[tuple[int, int, str, str]]:
    """Return both sides of the wrong elements of the first wrong instance, if their bits are recorded."""
    columns = matrix.shape[1]
    recorded = min(len(matrix.expected), len(matrix.got))
    indices = [
        row * columns + column
        for row, mask in enumerate(masks[: -(-recorded // columns)])
        for column in _columns(mask, columns)
        if row * columns + column < recorded
    ][:TITLED_ELEMENTS]
    expected, got = (_words([side[index] for index in indices], matrix.component) for side in (matrix.expected, matrix.got))
    if kind == UNWRITTEN:
        got = [UNWRITTEN] * len(indices)
    return [(*divmod(index, columns), want, have) for index, want, have in zip(indices, expected, got, strict=True)]


def _words(digits: Sequence[str], component: str) -> list[str]:
    """Return bits in hexadecimal, each with its value: cts.verdict.elements.words for many at once."""
    type_ = COMPONENT_TYPES[component]
    bits = np.array([int(text, 16) for text in digits], type_.bits_dtype)
    texts = (number(value) if type_.is_float else str(value) for value in values(bits, type_).tolist())
    return [f"0x{hexadecimal} ({text})" for hexadecimal, text in zip(digits, texts, strict=True)]


def _path(masks: Sequence[int], columns: int) -> str:
    """Draw one rectangle for each run of wrong elements in a row; it is taller if the next rows have the same mask."""
    parts = []
    row = 0
    while row < len(masks):
        height = 1
        while row + height < len(masks) and masks[row + height] == masks[row]:
            height += 1
        parts += [f"M{start} {row}h{end - start}v{height}h-{end - start}z" for start, end in _runs(masks[row], columns)]
        row += height
    return "".join(parts)


def _runs(mask: int, columns: int) -> Iterator[tuple[int, int]]:
    """Yield the runs of set bits, as (first, one past the last); bit 0 is column 0."""
    start = None
    for column in range(columns + 1):
        is_set = column < columns and mask >> column & 1
        if is_set and start is None:
            start = column
        elif not is_set and start is not None:
            yield start, column
            start = None


def _ticks(size: int, cell: float) -> range:
    """Return indices a power of two apart, until there are at most eight or each has room."""
    step = 1
    while size / step > _TICKS and step * cell < CELL_PIXELS:
        step *= 2
    return range(0, size, step)
