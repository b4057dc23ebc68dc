"""Dimensions, strides and clip windows of a case's views, and the slice that contains all elements that they reach."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from generators.layouts.tensors import row_major

BEYOND_16_BITS = 1 << 16

WHOLE = 0xFFFFFFFF
"""Both spans of the clip window of a new view (TA-VCR-01)."""

FormKind = Literal[
    "default",
    "span",
    "span_set",
    "reset",
    "padded",
    "crossed",
    "odd",
    "outer_zero",
    "inner_zero",
    "sliding",
    "wrapping",
    "far",
    "broad",
]
"""``span`` has no dimensions of its own; neither does ``span_set``, although it sets dimensions and strides. ``default`` sets dimensions;
``reset`` sets them after other dimensions and strides. ``padded`` has gaps, and ``crossed`` the strides of the reversed dimensions. ``far``
has a stride beyond 16 bits, and ``broad`` a dimension beyond 16 bits, of which only the start is reached. ``odd`` has dimensions that are
one larger and not powers of two. ``outer_zero`` and ``inner_zero`` have a stride of 0, ``sliding`` has windows that overlap as in a
convolution, and ``wrapping`` has half of the elements. With these four, several elements of a matrix are the same element of the tensor,
so they are for loads only."""

ClipKind = Literal["none", "whole", "wide", "inside", "rows", "columns", "corner", "over_right", "over_bottom", "one", "beyond", "empty"]
"""No clip window, or its place on the matrix."""


@dataclass(frozen=True)
class Clip:
    """The operands of OpTensorViewSetClipNV."""

    row_offset: int
    row_span: int
    column_offset: int
    column_span: int

    @property
    def operands(self) -> tuple[int, int, int, int]:
        """The operands in the order of the instruction."""
        return self.row_offset, self.row_span, self.column_offset, self.column_span


def clip_window(kind: ClipKind, rows: int, columns: int) -> Clip | None:
    """Return the window on a matrix; None for no window. Its numbers differ wherever possible."""
    half_rows, half_columns = rows // 2, columns // 2
    match kind:
        case "none":
            return None
        case "whole":
            return Clip(0, rows, 0, columns)
        case "wide":
            return Clip(0, rows + 5, 0, columns + 3)
        case "inside":
            return Clip(1, half_rows, 3, half_columns)
        case "rows":
            return Clip(3, half_rows, 0, WHOLE)
        case "columns":
            return Clip(0, WHOLE, 1, half_columns)
        case "corner":
            return Clip(rows - 3, half_rows, columns - 2, half_columns)
        case "over_right":
            return Clip(1, half_rows, half_columns + 1, half_columns)
        case "over_bottom":
            return Clip(half_rows + 1, half_rows, 1, half_columns)
        case "one":
            return Clip(rows - 3, 1, 2, 1)
        case "beyond":
            return Clip(1, half_rows, columns, half_columns)
        case _:
            return Clip(1, half_rows, 2, 0)


def window_elements(clip: Clip | None, rows: int, columns: int) -> int:
    """Return the number of elements in the window as the text counts them: its lines are ``min(columns, span)`` wide (F-TA-9)."""
    return rows * columns if clip is None else min(rows, clip.row_span) * min(columns, clip.column_span)


def window_numbers(clip: Clip | None, rows: int, columns: int) -> np.ndarray:
    """Return, for each matrix element inside the window, its index in the window's lines (F-TA-9); int64, one dimension."""
    if clip is None:
        return np.arange(rows * columns)
    width = min(columns, clip.column_span)
    seen_rows = max(0, min(rows - clip.row_offset, clip.row_span))
    seen_columns = max(0, min(columns - clip.column_offset, clip.column_span))
    return (np.arange(seen_rows)[:, None] * width + np.arange(seen_columns)).ravel()


def view_elements(numbers: np.ndarray, permutation: Sequence[int], sizes: Sequence[int], strides: Sequence[int] | None) -> np.ndarray:
    """Return the elements of the slice to which a view maps ``numbers``: coordinates in the order of ``permutation``, combined by
    ``strides``, or by row-major strides if None."""
    strides = strides or row_major(sizes)
    elements, left = np.zeros_like(numbers), numbers
    for dimension in reversed(permutation):
        elements = elements + left % sizes[dimension] * strides[dimension]
        left = left // sizes[dimension]
    return elements


_LAYOUT_FACTORS: Mapping[int, tuple[int, ...]] = MappingProxyType({1: (0,), 2: (4, 0), 3: (2, 0, 8), 4: (2, 0, 2, 4), 5: (2, 0, 4, 2, 2)})
_VIEW_FACTORS: Mapping[int, tuple[int, ...]] = MappingProxyType({1: (0,), 2: (0, 4), 3: (4, 0, 2), 4: (4, 2, 0, 4), 5: (2, 4, 0, 2, 2)})
"""Sizes by the number of dimensions; 0 marks the size that depends on the number of elements."""


def _sizes(factors: Sequence[int], elements: int, more: int = 0) -> tuple[int, ...]:
    """Return ``factors``, each larger by ``more``, with room for ``elements``."""
    given = [factor + more for factor in factors if factor]
    left = -(-elements // math.prod(given))
    return tuple(factor + more if factor else left for factor in factors)


def slice_spans(rank: int, elements: int, odd: bool, line: int | None = None) -> tuple[int, ...]:
    """Return spans of a slice of at least ``elements`` elements; if ``odd``, they are not powers of two and mostly more. Of two dimensions
    the inner one is ``line``, if that is given."""
    if rank == 2 and line:
        return -(-elements // line), line
    return _sizes(_LAYOUT_FACTORS[rank], elements, 1 if odd else 0)


def view_sizes(rank: int, elements: int, form: FormKind) -> tuple[int, ...] | None:
    """Return the dimensions of a view of ``elements`` elements; None if the elements cannot be divided into such dimensions."""
    factors = _VIEW_FACTORS[rank]
    fixed = math.prod(factor for factor in factors if factor)
    if form == "odd":
        return tuple(size + 1 for size in _sizes(factors, elements))
    if form == "wrapping":
        elements //= 2
    return None if elements % fixed or elements < fixed else _sizes(factors, elements)


def broadened(sizes: Sequence[int], permutation: Sequence[int]) -> tuple[int, ...]:
    """Return dimensions in which the last divisor of an index exceeds 16 bits; its low 16 bits are 1."""
    last = permutation[0]
    return tuple(BEYOND_16_BITS + 1 if dimension == last else size for dimension, size in enumerate(sizes))


def unused_sizes(spans: Sequence[int]) -> tuple[int, ...]:
    """Return dimensions to set in a view that must ignore them; like ``unused_strides``, they reach no element outside the slice."""
    return (max(1, spans[0] // 2),) if len(spans) == 1 else tuple(reversed(spans))


def unused_strides(spans: Sequence[int]) -> tuple[int, ...]:
    """Return strides other than row-major to set in a view that must ignore them, together with ``unused_sizes``."""
    return tuple(reversed(row_major(spans)))


def view_strides(form: FormKind, sizes: Sequence[int]) -> tuple[int, ...] | None:
    """Return the strides that a view sets; None if it keeps the default strides of its dimensions."""
    rank = len(sizes)
    match form:
        case "padded":
            strides = row_major(sizes, padded=True)
            return tuple(2 * stride for stride in strides)
        case "crossed":
            return tuple(reversed(row_major(tuple(reversed(sizes)))))
        case "far":
            strides = row_major(sizes, padded=True)
            return (strides[0] + BEYOND_16_BITS, *strides[1:])
        case "broad":
            return row_major(sizes)
        case "outer_zero":
            return (0, *row_major(sizes)[1:])
        case "inner_zero":
            return (*row_major(sizes[:-1]), 0)
        case "sliding":
            return _sliding(rank, sizes)
        case _:
            return None


def _sliding(rank: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of overlapping windows: in a line for two dimensions; in an image for four, with positions first; and the same
    with channels last for three and five."""
    channels = sizes[-1] if rank % 2 else 1
    if rank < 4:
        return (channels, channels, 1)[:rank]
    # The image is wider than the number of positions in a line, by the width of the window.
    line = (sizes[1] + sizes[3]) * channels
    return (line, channels, line, channels, 1)[:rank]
