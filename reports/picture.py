"""What a failing array looks like: which elements are wrong, drawn and in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cts.journal.record import MOST_SIDE
from cts.pictures.drawing import draw
from cts.printable import printable_line
from cts.verdict.elements import number
from cts.verdict.tensor_map import TensorMap
from generators.errors import CtsError
from generators.numerics.formats import values
from generators.types import COMPONENT_TYPES

PICTURE_PIXELS = 480
"""Width and height that a picture fills at most, in CSS pixels."""

CELL_PIXELS = 30
"""Width and height of an element at most, in CSS pixels."""

LINES_PIXELS = 6
"""Width of an element below which lines between elements would hide them."""

TITLED_ELEMENTS = 128
"""Elements of one picture that tell their values; more would make the page heavy."""

INSTANCES = 4
"""Scope instances of one array that are drawn."""

DRAWN_ELEMENTS = 1024
"""Elements of a tensor up to which a page shows it: each is a square with words of its own, and a run may have hundreds of pages."""

MOST_WORDS = 200
"""Characters of why an array cannot be drawn."""

LISTED_ELEMENTS = 64
"""Wrong elements of an array that a page lists; the journal has more."""

_TICKS = 8


@dataclass(frozen=True)
class Picture:
    """The matrix of one scope instance.

    Attributes:
        width, height: in CSS pixels.
        wrong: how many elements are.
        path: SVG path data that covers the wrong elements, one unit per element.
        row_ticks, column_ticks: indices to write at the edges.
        lines: whether there is room for lines between elements.
        sparse: whether the wrong elements are so small and few that they need an outline to be seen.
        titles: (row, column, expected, got) of the first wrong elements, both sides in words.
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
class WrongElement:
    """One wrong element, in text for people.

    Attributes:
        instance, row, column: where in the matrix. ``offset``: byte offset in the array.
        expected, got: bits and value.
        allowed: the interval of allowed values and what it comes from; empty where bits are compared.
    """

    instance: str
    row: str
    column: str
    offset: str
    expected: str
    got: str
    allowed: str


@dataclass(frozen=True)
class FailingArray:
    """A Mismatch.record() of the comparator, with the keys that it lacks empty.

    Attributes:
        kind: for example ``wrong value`` or ``not written``.
        count, total: wrong elements or bytes, and all.
        pattern: which ones, in words. ``matches``: the texts of the known defects that explain them.
        elements: the first wrong ones.
        pictures: of at most INSTANCES scope instances with wrong elements; none where bytes and no matrix are concerned.
        hidden: how many more scope instances have wrong elements.
        tensor: how the matrix of the first wrong instance lies in a tensor, its wrong elements marked, as an SVG document, of the first
            failing array of a page; empty where it is not known, or too large (``cts picture`` draws it).
        unreadable: why nothing of its elements is shown; empty if they are.
    """

    subcase: str
    array: str
    what: str
    kind: str
    count: int
    total: int
    pattern: str
    matches: Sequence[str]
    elements: Sequence[WrongElement]
    pictures: Sequence[Picture]
    hidden: int
    tensor: str = ""
    unreadable: str = ""

    @property
    def unit(self) -> str:
        """What ``count`` counts."""
        return "element" if self.pictures else "byte"


def failing_array(record: Mapping[str, Any], number: int = 0) -> FailingArray:
    """The failing array that a record of the journal tells of; ``number`` is another one for each on a page.

    What grows with the matrix is checked here, where it is used: see cts.journal.record.FAILURE for the rest.
    """
    array = FailingArray(
        subcase=str(record.get("subcase") or "unnamed"),
        array=str(record.get("array") or ""),
        what=str(record.get("what") or ""),
        kind=str(record.get("kind") or "wrong"),
        count=int(record.get("count") or 0),
        total=int(record.get("total") or 0),
        pattern=str(record.get("pattern") or ""),
        matches=tuple(str(match["text"]) for match in record.get("matches") or ()),
        elements=(),
        pictures=(),
        hidden=0,
    )
    try:
        instances = dict(record.get("instances") or {})
        return replace(
            array,
            elements=[_element(element) for element in (record.get("elements") or ())[:LISTED_ELEMENTS]],
            pictures=tuple(_picture(record, int(instance)) for instance in list(instances)[:INSTANCES]),
            hidden=max(0, len(instances) - INSTANCES),
            tensor=_tensor(record, f"tensor{number}") if "tensor" in record and number == 0 else "",
        )
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # The elements of a journal that was damaged, or written by another version, have no shape that is known here.
        return replace(array, unreadable=printable_line(f"{type(error).__name__}: {error}"[:MOST_WORDS]))


def _masks(texts: Sequence[str], rows: int, columns: int) -> list[int]:
    """The masks of a matrix's rows.

    Raises:
        ValueError: they are those of another matrix.
    """
    masks = [int(mask, 16) for mask in texts]
    if len(masks) != rows or any(mask < 0 or mask.bit_length() > columns for mask in masks):
        raise ValueError(f"the masks are not those of {rows} rows of {columns}")
    return masks


def _check(tensor: TensorMap, shape: Sequence[int]) -> None:
    """Raise ValueError if the parts of a tensor's map do not fit each other, and drawing it might never end."""
    ranks = {len(part) for part in (tensor.dimensions, tensor.offset, tensor.span, tensor.block_size)}
    maps = tensor.in_slice, tensor.in_tensor
    if (
        tuple(tensor.shape) != tuple(shape)
        or len(ranks) != 1
        or any(not 1 <= size <= MOST_SIDE for part in (tensor.dimensions, tensor.span, tensor.block_size) for size in part)
        or any(len(part) != math.prod(shape) for part in maps)
    ):
        raise ValueError("the parts of the tensor's map do not fit each other")


def _tensor(record: Mapping[str, Any], name: str) -> str:
    tensor = TensorMap.from_record(record["tensor"])
    if math.prod(tensor.dimensions) > DRAWN_ELEMENTS:
        return ""
    _check(tensor, record["shape"])
    columns = tensor.shape[1]
    masks = _masks(record["wrong"], *tensor.shape)
    wrong = frozenset(row * columns + column for row, mask in enumerate(masks) for column in range(columns) if mask >> column & 1)
    try:
        return draw(tensor, wrong, name)
    except CtsError:
        return ""


def _element(record: Mapping[str, Any]) -> WrongElement:
    expected, got = (
        f"{printable_line(str(record.get(f'{side}_bits', '')))} ({_text(record.get(side, 'unknown'))})".strip()
        for side in ("expected", "got")
    )
    allowed = ""
    if "low" in record and "high" in record:
        allowed = f"allowed {_text(record['low'])} to {_text(record['high'])}"
        parts = {"true value": "center", "bound": "bound", "S": "magnitude"}
        allowed += "".join(f", {name} {_text(record[key])}" for name, key in parts.items() if key in record)
    instance, row, column, offset = (printable_line(str(record.get(key, ""))) for key in ("instance", "row", "column", "offset"))
    return WrongElement(instance, row, column, offset, expected, got, allowed)


def _text(value: float | int | str) -> str:
    return number(value) if isinstance(value, float) else printable_line(str(value))


def _picture(record: Mapping[str, Any], instance: int) -> Picture:
    rows, columns = record["shape"]
    masks = _masks(record["instances"][str(instance)], rows, columns)
    wrong = sum(mask.bit_count() for mask in masks)
    cell = min(CELL_PIXELS, PICTURE_PIXELS / max(rows, columns))
    return Picture(
        instance,
        rows,
        columns,
        round(cell * columns, 1),
        round(cell * rows, 1),
        wrong,
        _path(masks, columns),
        _ticks(rows, cell),
        _ticks(columns, cell),
        cell >= LINES_PIXELS,
        cell < LINES_PIXELS and wrong * 20 <= rows * columns,
        _titles(record, masks) if instance == record.get("instance") else (),
    )


def _titles(record: Mapping[str, Any], masks: Sequence[int]) -> list[tuple[int, int, str, str]]:
    """Both sides of the wrong elements of the first wrong instance, as far as the record has their bits."""
    columns = record["shape"][1]
    sides = record.get("expected") or (), record.get("got") or ()
    recorded = min(map(len, sides))
    indices = [
        row * columns + column
        for row, mask in enumerate(masks[: -(-recorded // columns)])
        for column in range(columns)
        if mask >> column & 1 and row * columns + column < recorded
    ][:TITLED_ELEMENTS]
    expected, got = (_words([side[index] for index in indices], record["component"]) for side in sides)
    return [(*divmod(index, columns), want, have) for index, want, have in zip(indices, expected, got, strict=True)]


def _words(digits: Sequence[str], component: str) -> list[str]:
    """Bits in hexadecimal, each with its value: cts.verdict.elements.words for many at once."""
    type_ = COMPONENT_TYPES[component]
    bits = np.array([int(text, 16) for text in digits], type_.bits_dtype)
    texts = (number(value) if type_.is_float else str(value) for value in values(bits, type_).tolist())
    return [f"0x{hexadecimal} ({text})" for hexadecimal, text in zip(digits, texts, strict=True)]


def _path(masks: Sequence[int], columns: int) -> str:
    """One rectangle for each run of wrong elements in a row, taller where the next rows have the same mask."""
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
    """The runs of set bits, as (first, one past the last); bit 0 is column 0."""
    start = None
    for column in range(columns + 1):
        is_set = column < columns and mask >> column & 1
        if is_set and start is None:
            start = column
        elif not is_set and start is not None:
            yield start, column
            start = None


def _ticks(size: int, cell: float) -> range:
    """Indices a power of two apart, so that there are at most eight or each has room."""
    step = 1
    while size / step > _TICKS and step * cell < CELL_PIXELS:
        step *= 2
    return range(0, size, step)
