"""The addresses of a matrix's elements in tensor addressing (SPV_NV_cooperative_matrix2, Tensor Layout and View)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cts.reference.tensor import WHOLE_SPAN, LayoutState, ViewState, row_major
from generators.errors import GeneratorError
from generators.program.values import TensorLayoutType, TensorViewType, extent
from generators.types import ClampMode

LIMIT = 1 << 31
"""Limit of coordinates and of the index in a view: below it, their signedness has no effect (F-TA-6, F-TA-7)."""

ENDLESS = 0xFFFFFFFF
"""Size of an outermost dimension that counts as unbounded, in modes that compare coordinates with it but take no remainder (F-TA-6)."""


@dataclass(frozen=True)
class Addresses:
    """The addresses of every element, each of shape (instances, rows, columns).

    Attributes:
        index: in units of the component, or of a block's struct; int64. It is 0 for elements that are not accessed.
        clipped: whether the view's clip window excludes the element.
        outside: whether a coordinate is out of bounds and the mode does not move it inside: a load takes the clamp value, a store discards
            the element. No element is both outside and clipped.
        block: the index of the element's block in each dimension, int64, (instances, rows, columns, rank).
        within: the place in the block, of the same shape.
        span: the coordinate in the slice, of the same shape; 0 where clipped.
    """

    index: np.ndarray
    clipped: np.ndarray
    outside: np.ndarray
    block: np.ndarray
    within: np.ndarray
    span: np.ndarray

    @property
    def accessed(self) -> np.ndarray:
        """Whether each element is in memory."""
        return np.asarray(~(self.clipped | self.outside))


Undefined = Callable[[str, str], None]
"""A function that gets the broken rule and a description of the undefined behaviour; evaluation continues if it returns."""


def refuse(rule: str, message: str) -> None:
    """Raise GeneratorError."""
    raise GeneratorError(rule, message)


def addresses(
    shape: tuple[int, int],
    layout_type: TensorLayoutType,
    layout: LayoutState,
    view_type: TensorViewType | None,
    view: ViewState | None,
    store: bool,
    undefined: Undefined = refuse,
) -> Addresses:
    """Return the addresses of all elements at once.

    Args:
        shape: rows and columns of the matrix.
        layout_type, layout, view_type, view: the layout and view of the access, and their types.
        store: whether elements are written.
        undefined: is called if elements leave the tensor in mode Undefined.

    Raises:
        GeneratorError: the specification leaves a result undefined, or it depends on the width of integers.
    """
    if view is None or view_type is None:
        row, column = places(shape, layout)
        return slice_addresses(row * shape[1] + column, np.zeros(row.shape, bool), layout_type, layout, store, undefined)
    row, column = places(shape, layout)
    index, clipped = linear_in_clip(row, column, shape[1], view)
    return slice_addresses(through_view(index, view_type, view, layout), clipped, layout_type, layout, store, undefined)


def places(shape: tuple[int, int], layout: LayoutState) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and column of every element, int64, (instances, rows, columns)."""
    row, column = np.meshgrid(*(np.arange(size, dtype=np.int64) for size in shape), indexing="ij")
    count = len(layout.dimension)
    return np.tile(row, (count, 1, 1)), np.tile(column, (count, 1, 1))


def slice_addresses(
    index: np.ndarray,
    clipped: np.ndarray,
    layout_type: TensorLayoutType,
    layout: LayoutState,
    store: bool,
    undefined: Undefined,
) -> Addresses:
    """Return the addresses of elements with these indices in the slice, (instances, rows, columns); the rest is as for ``addresses``."""
    dimension = layout.dimension.copy()
    if layout_type.clamp_value not in (ClampMode.REPEAT, ClampMode.REPEAT_MIRRORED):
        dimension[:, 0] = np.where(dimension[:, 0] == ENDLESS, LIMIT - 1, dimension[:, 0])
    for name, sizes in (("span", layout.span), ("dimension", dimension), ("block size", layout.block_size)):
        if (sizes <= 0).any():
            raise GeneratorError("F-TA-12", f"a {name} of the tensor layout is 0; set it first (F-TA-12)")
        if (sizes >= LIMIT).any():
            raise GeneratorError("F-TA-6", f"a {name} of the tensor layout is not below 2^31; make it smaller (F-TA-6)")
    index = np.where(clipped, 0, index)
    _bounded(index, "the index in the slice")
    rank = layout.dimension.shape[1]
    span = np.zeros((*index.shape, rank), np.int64)
    for place in range(rank - 1, -1, -1):
        size = per_instance(layout.span[:, place])
        span[..., place] = index % size
        # The quotient goes to the next dimension; the outermost one wraps too (F-TA-11).
        index = index // size
    block, within, outside = _in_tensor(span, layout_type.clamp_value, layout, clipped, store, undefined)
    numbers = (block * layout.stride[:, None, None, :]).sum(axis=-1)
    return Addresses(np.where(clipped | outside, 0, numbers), clipped, outside & ~clipped, block, within, span)


def per_instance(values: np.ndarray) -> np.ndarray:
    """Reshape (instances,) to (instances, 1, 1): one number for all elements of a matrix."""
    return np.asarray(values[:, None, None])


def _bounded(values: np.ndarray, what: str) -> None:
    if (values >= LIMIT).any():
        raise GeneratorError(
            "F-TA-7", f"{what} is not below 2^31, so the result depends on the width of integers; make the tensor smaller (F-TA-7)"
        )


def linear_in_clip(row: np.ndarray, column: np.ndarray, columns: int, view: ViewState) -> tuple[np.ndarray, np.ndarray]:
    """Return the index in the clip window, whose lines are ``min(columns, span)`` wide even if the window exceeds the matrix (F-TA-9), and
    which elements are outside it."""
    row_offset, row_span, column_offset, column_span = (per_instance(view.clip[:, i]) for i in range(4))
    if ((row_offset + row_span > WHOLE_SPAN) | (column_offset + column_span > WHOLE_SPAN)).any():
        raise GeneratorError(
            "F-TA-8", "a clip window ends beyond 2^32, so the result depends on the width of integers; give a smaller span (F-TA-8)"
        )
    outside = (row < row_offset) | (row >= row_offset + row_span) | (column < column_offset) | (column >= column_offset + column_span)
    return (row - row_offset) * np.minimum(columns, column_span) + (column - column_offset), outside


def through_view(index: np.ndarray, type_: TensorViewType, view: ViewState, layout: LayoutState) -> np.ndarray:
    """Compute the index in the slice from the index in the view, which is split in permuted order (CM2-VW-05 to CM2-VW-07)."""
    rank = len(type_.permutation)
    own = type_.has_dimensions if isinstance(type_.has_dimensions, bool) else bool(extent(type_.has_dimensions))
    if own:
        sizes, strides = view.dimension, view.stride
    else:
        if rank != layout.span.shape[1]:
            raise GeneratorError("F-TA-10", "a view without dimensions needs the rank of the layout (F-TA-10)")
        sizes, strides = layout.span, row_major(layout.span)
    if (sizes <= 0).any():
        raise GeneratorError("F-TA-12", "a dimension of the tensor view is 0; set it first (F-TA-12)")
    result = np.zeros_like(index)
    for place in range(rank - 1, -1, -1):
        dimension = extent(type_.permutation[place])
        size = per_instance(sizes[:, dimension])
        result += index % size * per_instance(strides[:, dimension])
        index = index // size
    return result


def _in_tensor(
    span: np.ndarray, mode: ClampMode, layout: LayoutState, clipped: np.ndarray, store: bool, undefined: Undefined
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the blocks, the places in the blocks, and which elements are outside the tensor."""
    coordinate = span + layout.offset[:, None, None, :]
    size = layout.dimension[:, None, None, :]
    if (np.abs(coordinate) >= LIMIT).any():
        raise GeneratorError(
            "F-TA-6", "a coordinate is beyond 31 bits, so the result depends on its signedness; give smaller offsets (F-TA-6)"
        )
    out = (coordinate < 0) | (coordinate >= size)
    out &= ~clipped[..., None]
    outside = np.zeros(clipped.shape, bool)
    if mode is ClampMode.UNDEFINED and out.any():
        undefined("CM2-CL-01", "elements are outside the tensor and the clamp mode is Undefined (CM2-CL-01); choose another mode or slice")
    if mode is not ClampMode.UNDEFINED and (store or mode is ClampMode.CONSTANT):
        # A store discards elements out of bounds in every mode except Undefined (CM2-CL-07, F-TA-18).
        outside = out.any(axis=-1)
        moved = coordinate
    else:
        moved = np.where(out, _clamped(coordinate, size, mode, out), coordinate)
    moved = np.where((clipped | outside)[..., None], 0, moved)
    sizes = layout.block_size[:, None, None, :]
    return moved // sizes, moved % sizes, outside


def _clamped(coordinate: np.ndarray, size: np.ndarray, mode: ClampMode, out: np.ndarray) -> np.ndarray:
    """Return the replacement of a coordinate out of bounds. Remainders have the sign of the divisor (F-TA-4), as in Python."""
    match mode:
        case ClampMode.CLAMP_TO_EDGE:
            return np.asarray(np.clip(coordinate, 0, size - 1))
        case ClampMode.REPEAT:
            return np.asarray(coordinate % size)
        case ClampMode.REPEAT_MIRRORED:
            if (out & (size == 1)).any():
                raise GeneratorError(
                    "F-TA-2", "mirroring in a dimension of size 1 divides by zero (F-TA-2); give it 2 or more, or stay inside"
                )
            period = np.where(size == 1, 1, 2 * size - 2)
            folded = coordinate % period
            # F-TA-1: compared with the dimension's size.
            return np.where(folded >= size, period - folded, folded)
        case _:
            return coordinate
