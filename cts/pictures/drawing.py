"""Draws a TensorMap as SVG: the matrix beside the tensor, the same colour and name for the same element."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Literal
from xml.sax.saxutils import escape

from cts.verdict.tensor_map import NOWHERE, TensorMap
from generators.errors import CtsError

_LARGE, _SMALL = 25, 11
"""Pixels of an element with its name, and without it."""

_NAMED_COLUMNS = 16
"""The most columns of a matrix whose elements are named."""

_GAP, _MARGIN, _LINE, _LETTER = 26, 16, 17, 8
_WIDTH = 940
"""The largest width of the tensor's slices side by side; further slices go below."""

_FOLD = 32
"""How many elements of a tensor with one dimension are drawn in a line."""

_MOST = 20_000
"""The most elements of a tensor that is drawn."""

_AWAY = 16
"""A slice is drawn with the tensor if it begins and ends at most this many elements from it."""

_STYLE: Mapping[str, str] = MappingProxyType(
    {
        "text": "font:12px sans-serif;fill:#222",
        ".n": "font-size:7.5px;text-anchor:middle",
        ".h": "font-weight:bold;font-size:13px",
        ".c": "stroke:#888;stroke-width:.5",
        ".s": "stroke:#1b4fa0;stroke-width:1.2",
        ".o": "stroke:#1b4fa0;stroke-width:1;stroke-dasharray:2 2",
        ".t": "fill:none;stroke:#111;stroke-width:2",
        ".x": "stroke:#d00000;stroke-width:2.2;fill:none",
        ".m": "fill:#222",
    }
)
_DEFINITIONS = (
    '<defs><pattern id="{0}-clipped" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6" fill="#eee"/>'
    '<path d="M0 6L6 0" stroke="#aaa"/></pattern><pattern id="{0}-outside" width="5" height="5" patternUnits="userSpaceOnUse">'
    '<rect width="5" height="5" fill="#fff"/><circle cx="2.5" cy="2.5" r="1" fill="#999"/></pattern></defs>'
)


Obstacle = Literal["shader", "instance", "tensor", "access", "size"]
"""Why a picture cannot be drawn: the case runs no shader, or has no such scope instance, tensor or access; or the tensor is too large."""


class NotDrawable(CtsError):
    """A picture cannot be drawn.

    Attributes:
        obstacle: why not.
    """

    def __init__(self, obstacle: Obstacle, message: str) -> None:
        super().__init__(message)
        self.obstacle = obstacle


@dataclass(frozen=True)
class _Box:
    """The coordinates that are drawn: for each dimension the first and one past the last."""

    first: tuple[int, ...]
    end: tuple[int, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(end - first for first, end in zip(self.first, self.end, strict=True))


def _box(tensor: TensorMap) -> _Box:
    """Return the box around the tensor and the slice, or around the tensor alone if the slice is far away."""
    first, end = [], []
    for size, offset, span in zip(tensor.dimensions, tensor.offset, tensor.span, strict=True):
        near = -_AWAY - span <= offset <= size + _AWAY
        first.append(min(0, offset) if near else 0)
        end.append(max(size, offset + span) if near else size)
    box = _Box(tuple(first), tuple(end))
    if math.prod(box.sizes) > _MOST:
        raise NotDrawable(
            "size", f"a tensor of {' x '.join(map(str, box.sizes))} elements is too large to draw; choose a case with a smaller one"
        )
    return box


def _unravelled(number: int, sizes: Sequence[int]) -> tuple[int, ...]:
    result = []
    for size in reversed(sizes):
        number, rest = divmod(number, size)
        result.append(rest)
    return tuple(reversed(result))


def _colour(tensor: TensorMap, element: int) -> str:
    """Choose the colour by the element's place in the matrix: the column decides the hue, the row decides the lightness."""
    rows, columns = tensor.shape
    row, column = divmod(element, columns)
    return f"hsl({round(330 * column / columns)},75%,{round(88 - 34 * row / rows)}%)"


def _name(tensor: TensorMap, element: int) -> str:
    row, column = divmod(element, tensor.shape[1])
    return f"{row},{column}"


@dataclass(frozen=True)
class _Cell:
    """One square. ``fill`` is a colour or a pattern; ``kind`` a class of the style; ``name`` is written into it."""

    x: float
    y: float
    size: int
    fill: str
    kind: str
    name: str = ""
    title: str = ""
    moved: bool = False
    wrong: bool = False

    def lines(self) -> Iterator[str]:
        """Yield the SVG elements."""
        x, y, size = self.x, self.y, self.size
        title = f"<title>{escape(self.title)}</title>" if self.title else ""
        yield f'<rect class="{self.kind}" x="{x:g}" y="{y:g}" width="{size}" height="{size}" fill="{self.fill}">{title}</rect>'
        if self.moved:
            third = round(size * 0.3)
            yield f'<path class="m" d="M{x:g} {y:g}h{third}l-{third} {third}z"/>'
        if self.name and size >= _LARGE:
            yield f'<text class="n" x="{x + size / 2:g}" y="{y + size / 2 + 3:g}">{self.name}</text>'
        if self.wrong:
            yield f'<path class="x" d="M{x + 2:g} {y + 2:g}l{size - 4} {size - 4}m0 -{size - 4}l-{size - 4} {size - 4}"/>'


def _outcome(tensor: TensorMap, element: int) -> str:
    """Describe the fate of an element, for people."""
    load = tensor.access == "load"
    if tensor.in_slice[element] == NOWHERE:
        return "is left out by the clip window: " + ("it keeps its old value" if load else "it is not stored")
    wanted = _wanted(tensor, element)
    if tensor.in_tensor[element] == NOWHERE:
        return f"is at {wanted}, out of bounds: " + ("it is the clamp value" if load else "it is discarded")
    place = _unravelled(tensor.in_tensor[element], tensor.dimensions)
    moved = "" if place == wanted else f"; {wanted} is out of bounds"
    return ("is read from " if load else "is written to ") + f"{place}{moved}"


def _wanted(tensor: TensorMap, element: int) -> tuple[int, ...]:
    """Return the coordinates before clamping."""
    within = _unravelled(tensor.in_slice[element], tensor.span)
    return tuple(offset + coordinate for offset, coordinate in zip(tensor.offset, within, strict=True))


def _moved(tensor: TensorMap, element: int) -> bool:
    where = tensor.in_tensor[element]
    return where != NOWHERE and _unravelled(where, tensor.dimensions) != _wanted(tensor, element)


def _matrix(tensor: TensorMap, size: int, left: float, top: float, wrong: Collection[int], name: str) -> Iterator[str]:
    columns = tensor.shape[1]
    for element in range(math.prod(tensor.shape)):
        row, column = divmod(element, columns)
        fill = _colour(tensor, element)
        if tensor.in_slice[element] == NOWHERE:
            fill = f"url(#{name}-clipped)"
        elif tensor.in_tensor[element] == NOWHERE:
            fill = f"url(#{name}-outside)"
        yield from _Cell(
            left + column * size,
            top + row * size,
            size,
            fill,
            "c",
            _name(tensor, element),
            f"({row}, {column}) {_outcome(tensor, element)}",
            _moved(tensor, element),
            element in wrong,
        ).lines()


@dataclass(frozen=True)
class _Plane:
    """A slice of the drawn coordinates along the last two dimensions, or the lines of a tensor with one dimension, and its place.

    Attributes:
        outer: the coordinates of the other dimensions.
        rows, columns: how many rows and columns of squares it has.
    """

    outer: tuple[int, ...]
    left: float
    top: float
    rows: int
    columns: int


def _planes(box: _Box, size: int, left: float, top: float) -> list[_Plane]:
    """Place planes side by side, and further planes below."""
    sizes = box.sizes
    if len(sizes) == 1:
        columns = min(_FOLD, sizes[0])
        return [_Plane((), left, top + _LINE, -(-sizes[0] // columns), columns)]
    rows, columns = sizes[-2:]
    found, x, y = [], left, top
    for outer in product(*(range(first, end) for first, end in zip(box.first[:-2], box.end[:-2], strict=True))):
        if x > left and x + columns * size > left + _WIDTH:
            x, y = left, y + rows * size + _GAP
        found.append(_Plane(outer, x, y + _LINE, rows, columns))
        x += columns * size + _GAP
    return found


def _coordinates(box: _Box, plane: _Plane, row: int, column: int) -> tuple[int, ...] | None:
    if len(box.first) == 1:
        place = box.first[0] + row * plane.columns + column
        return (place,) if place < box.end[0] else None
    return *plane.outer, box.first[-2] + row, box.first[-1] + column


def _is_in(place: Sequence[int], first: Sequence[int], sizes: Sequence[int]) -> bool:
    return all(begin <= coordinate < begin + size for coordinate, begin, size in zip(place, first, sizes, strict=True))


def _tensor(tensor: TensorMap, box: _Box, planes: Sequence[_Plane], size: int, wrong: Collection[int], name: str) -> Iterator[str]:
    users: dict[tuple[int, ...], list[int]] = defaultdict(list)
    beyond: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for element, where in enumerate(tensor.in_tensor):
        if where != NOWHERE:
            users[_unravelled(where, tensor.dimensions)].append(element)
        if tensor.in_slice[element] != NOWHERE and (where == NOWHERE or _moved(tensor, element)):
            beyond[_wanted(tensor, element)].append(element)
    origin = (0,) * len(tensor.dimensions)
    for plane in planes:
        if plane.outer:
            label = _numbers(plane.outer, ",").replace(" ,", ",")
            yield f'<text x="{plane.left:g}" y="{plane.top - 4:g}">({label}, …)</text>'
        for row, column in product(range(plane.rows), range(plane.columns)):
            place = _coordinates(box, plane, row, column)
            if place is None:
                continue
            inside = _is_in(place, origin, tensor.dimensions)
            in_slice = _is_in(place, tensor.offset, tensor.span)
            here = users.get(place) if inside else beyond.get(place)
            if not inside and not in_slice:
                continue
            kind = ("s" if inside else "o") if in_slice else "c"
            fill = _colour(tensor, here[0]) if here and inside else "#fff" if inside else f"url(#{name}-outside)"
            label = "" if not here else _name(tensor, here[0]) if len(here) == 1 else f"×{len(here)}"
            marked = bool(here) and inside and any(element in wrong for element in here or ())
            at = plane.left + column * size, plane.top + row * size
            yield from _Cell(*at, size, fill, kind, label, wrong=marked).lines()
        yield from _edge(tensor, box, plane, size)


def _edge(tensor: TensorMap, box: _Box, plane: _Plane, size: int) -> Iterator[str]:
    """Yield the outline of the tensor in a plane."""
    if len(box.first) == 1 or not _is_in(plane.outer, (0,) * len(plane.outer), tensor.dimensions[:-2]):
        return
    x, y = plane.left - box.first[-1] * size, plane.top - box.first[-2] * size
    yield f'<rect class="t" x="{x:g}" y="{y:g}" width="{tensor.dimensions[-1] * size}" height="{tensor.dimensions[-2] * size}"/>'


def _legend(tensor: TensorMap, left: float, top: float, name: str, wrong: Collection[int]) -> Iterator[str]:
    load = tensor.access == "load"
    marks = [
        ("", "the same colour and name: the same element; ×n: n elements of the matrix"),
        ("", "blue edge: the slice; dashed: the part of it that is out of bounds; black: the tensor"),
    ]
    if NOWHERE in tensor.in_slice:
        marks.append((f"url(#{name}-clipped)", "left out by the clip window: " + ("keeps its old value" if load else "not stored")))
    if any(s != NOWHERE and t == NOWHERE for s, t in zip(tensor.in_slice, tensor.in_tensor, strict=True)):
        marks.append((f"url(#{name}-outside)", "out of bounds: " + ("the clamp value" if load else "discarded")))
    if any(_moved(tensor, element) for element in range(len(tensor.in_slice))):
        marks.append(("", "black corner: was out of bounds, and the clamp mode moved it inside"))
    if wrong:
        marks.append(("", "red cross: a wrong element"))
    for i, (fill, text) in enumerate(marks):
        y = top + i * _LINE
        if fill:
            yield f'<rect class="c" x="{left}" y="{y - 11:g}" width="13" height="13" fill="{fill}"/>'
        yield f'<text x="{left + (20 if fill else 0)}" y="{y:g}">{escape(text)}</text>'


def _numbers(values: Sequence[int], sign: str) -> str:
    return f" {sign} ".join(str(value).replace("-", "−") for value in values)


def draw(tensor: TensorMap, wrong: Collection[int] = (), name: str = "tensor") -> str:
    """Draw the picture.

    Args:
        tensor: the tensor access to draw.
        wrong: numbers of matrix elements, row by row, that are marked with a cross.
        name: the picture's id and the beginning of others, unique in a page.

    Returns:
        A complete, self-contained SVG document.

    Raises:
        CtsError: the tensor is too large.
    """
    rows, columns = tensor.shape
    box = _box(tensor)
    size = _LARGE if columns <= _NAMED_COLUMNS and math.prod(box.sizes) <= _MOST // 10 else _SMALL
    top = _MARGIN + 2 * _LINE
    left = _MARGIN + columns * size + 2 * _GAP
    planes = _planes(box, size, left, top)
    width = max(plane.left + plane.columns * size for plane in planes) + _MARGIN
    slice_ = f"slice at ({_numbers(tensor.offset, ',').replace(' ,', ',')}) of {_numbers(tensor.span, '×')}"
    blocks = "" if set(tensor.block_size) == {1} else f", blocks of {_numbers(tensor.block_size, '×')}"
    of_tensor = f"tensor {_numbers(tensor.dimensions, '×')}, {slice_}{blocks}, clamp mode {tensor.clamp.lower().replace('_', ' ')}"
    arrow = "is loaded from" if tensor.access == "load" else "is stored to"
    title = f"{tensor.matrix}, {rows} × {columns}, {arrow} the {of_tensor}"
    width = max(width, _LETTER * len(title) + 2 * _MARGIN)
    bottom = max(top + _LINE + rows * size, *(plane.top + plane.rows * size for plane in planes))
    legend = list(_legend(tensor, _MARGIN, bottom + 2 * _LINE, name, wrong))
    height = bottom + 2 * _LINE + sum(line.startswith("<text") for line in legend) * _LINE
    extent = f'width="{width:g}" height="{height:g}"'
    style = "".join(f"#{name} {which}{{{words}}}" for which, words in _STYLE.items())
    parts = [
        f'<svg id="{name}" xmlns="http://www.w3.org/2000/svg" {extent} viewBox="0 0 {width:g} {height:g}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{style}</style>",
        _DEFINITIONS.format(name),
        f'<rect {extent} fill="#fff"/>',
        f'<text class="h" x="{_MARGIN}" y="{_MARGIN + 6}">{escape(title)}</text>',
        *_matrix(tensor, size, _MARGIN, top + _LINE, wrong, name),
        *_tensor(tensor, box, planes, size, wrong, name),
        *legend,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
