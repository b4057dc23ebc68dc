"""Finds where the elements of a matrix are in a tensor: matrixCoordToTensorElement and matrixCoordToTensorElementWithView of
SPV_NV_cooperative_matrix2, Tensor Layout and View, for all elements of a matrix at once.

The functions of the specification have their names and order here. Arithmetic is 32-bit; with 64-bit indexing, tensorCoordToLinear for
the tensor is 64-bit (Vulkan, "64-Bit Indexing"). A calculation whose numbers need more bits breaks a rule (F-TA-6, F-TA-7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cts.embedded.machine.remembering import remember_small
from generators.spirv.enumerants import TensorClampMode

_U32 = (1 << 32) - 1
_S32_MAX = (1 << 31) - 1
_REPEATING = (TensorClampMode.Repeat, TensorClampMode.RepeatMirrored)


@dataclass(frozen=True)
class Layout:
    """A tensor layout in one instance of a scope. Tuples have a number for each dimension, outermost first; offsets are signed."""

    clamp_mode: TensorClampMode
    block_size: tuple[int, ...]
    dimension: tuple[int, ...]
    stride: tuple[int, ...]
    offset: tuple[int, ...]
    span: tuple[int, ...]
    clamp_value: int


@dataclass(frozen=True)
class View:
    """A tensor view in one instance of a scope; ``clip_rows`` and ``clip_columns`` are offset and span."""

    has_dimensions: bool
    permutation: tuple[int, ...]
    dimension: tuple[int, ...]
    stride: tuple[int, ...]
    clip_rows: tuple[int, int]
    clip_columns: tuple[int, int]


@dataclass(frozen=True)
class Places:
    """The places of elements. The arrays have the shape (rows, columns), or (dimensions of the layout, rows, columns), and are read-only.

    Attributes:
        skipped: elements outside of the view's clip region, which are neither loaded nor stored.
        clamped: elements outside of the layout's bounds. A load gives the clamp value; a store is discarded.
        block_coord, coord_in_block: int64; meaningless for elements that are skipped or clamped.
        index: int64, with the same exception: offset from the pointer, in units of the component type or the decode function's pointee.
        broken: (rule, what happened) for each rule that the calculation breaks.
    """

    skipped: np.ndarray
    clamped: np.ndarray
    block_coord: np.ndarray
    coord_in_block: np.ndarray
    index: np.ndarray
    broken: tuple[tuple[str, str], ...]

    @property
    def reached(self) -> np.ndarray:
        """A bool array: which elements have a place in memory."""
        reached: np.ndarray = ~(self.skipped | self.clamped)
        return reached


@remember_small(maxsize=256, elements=lambda _, __, rows, columns, *___: rows * columns)
def tensor_places(layout: Layout, view: View | None, rows: int, columns: int, store: bool, wide: bool = False) -> Places:
    """Return the place of each element of a matrix of ``rows`` x ``columns`` in a load or a ``store``. ``wide``: with 64-bit indexing.

    A calculation that breaks a rule goes on with arbitrary numbers, so a device that is not strict has a result.
    """
    return _Calculation(layout, view, rows, columns, store, wide).run()


class _Calculation:
    def __init__(self, layout: Layout, view: View | None, rows: int, columns: int, store: bool, wide: bool) -> None:
        self._layout, self._view, self._store, self._wide = layout, view, store, wide
        self._columns = columns
        self._row, self._col = np.indices((rows, columns), np.int64)
        self._skipped = np.zeros((rows, columns), bool)
        self._clamped = np.zeros((rows, columns), bool)
        self._broken: dict[str, str] = {}

    def run(self) -> Places:
        index = self._row * self._columns + self._col
        if self._view is not None:
            index = self._clip(self._view)
            index = self._view_coord_to_linear(self._view, self._linear_to_view_coord(self._view, index))
        span_coord = self._linear_to_span_coord(index)
        block_coord, coord_in_block = self._span_coord_to_tensor_coord(span_coord)
        index = self._number(block_coord)
        if self._store:
            self._check_distinct(index)
        arrays = self._skipped, self._clamped, np.array(block_coord), np.array(coord_in_block), index
        for array in arrays:
            array.setflags(write=False)
        return Places(*arrays, tuple(self._broken.items()))

    def _forbid(self, rule: str, what: str, where: np.ndarray | None = None) -> None:
        """Note that a rule is broken if an element in ``where`` (None: any element) is neither skipped nor clamped."""
        taking_part = ~(self._skipped | self._clamped)
        if where is not None:
            taking_part &= where
        if taking_part.any():
            row, column = (int(i) for i in np.argwhere(taking_part)[0])
            self._broken.setdefault(rule, f"element ({row}, {column}): {what}")

    def _clip(self, view: View) -> np.ndarray:
        """Compute matrixCoordToLinear with a view."""
        ends = []
        for what, (offset, span) in (("rows", view.clip_rows), ("columns", view.clip_columns)):
            if offset + span > _U32:
                self._forbid("F-TA-8", f"the clip region of {what} has offset {offset} and span {span}, so its end is beyond 32 bits")
            ends.append(offset + span & _U32)
        (row_offset, _), (col_offset, col_span) = view.clip_rows, view.clip_columns
        row, col = self._row, self._col
        self._skipped = (row < row_offset) | (row >= ends[0]) | (col < col_offset) | (col >= ends[1])
        width = min(self._columns, col_span)
        return np.where(self._skipped, 0, (row - row_offset) * width + (col - col_offset))

    def _linear_to_view_coord(self, view: View, index: np.ndarray) -> list[np.ndarray]:
        dimensions = self._view_dimensions(view)
        coord = [np.zeros_like(index)] * len(dimensions)
        for i in reversed(view.permutation):
            coord[i], index = self._split(index, dimensions[i], "the view's dimension" if view.has_dimensions else "span", i)
        return coord

    def _view_dimensions(self, view: View) -> tuple[int, ...]:
        if view.has_dimensions:
            return view.dimension
        span, count = self._layout.span, len(view.permutation)
        if count != len(span):
            self._forbid("F-TA-10", f"a view of {count} dimensions takes its sizes from a span of {len(span)} dimensions")
        return (span + (1,) * count)[:count]

    def _view_coord_to_linear(self, view: View, coord: Sequence[np.ndarray]) -> np.ndarray:
        stride = view.stride
        if not view.has_dimensions:
            span = self._view_dimensions(view)
            row_major = [1] * len(span)
            for dim in reversed(range(len(span) - 1)):
                row_major[dim] = row_major[dim + 1] * span[dim + 1]
            if row_major[0] > _U32:
                self._forbid("F-TA-7", "the strides of the span, as a view, are beyond 32 bits")
            stride = tuple(s & _U32 for s in row_major)
        return self._dot(coord, stride, "the index in the view")

    def _linear_to_span_coord(self, index: np.ndarray) -> list[np.ndarray]:
        span = self._layout.span
        coord = [np.zeros_like(index)] * len(span)
        for dim in reversed(range(len(span))):
            coord[dim], index = self._split(index, span[dim], "span", dim)
        return coord

    def _split(self, index: np.ndarray, size: int, what: str, dim: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the remainder and quotient of unsigned numbers."""
        if size == 0:
            self._forbid("F-TA-12", f"{what} {dim} is 0, but the calculation divides by it")
        quotient, remainder = np.divmod(index, max(size, 1))
        return remainder, quotient

    def _span_coord_to_tensor_coord(self, span_coord: Sequence[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        layout = self._layout
        block_coord, coord_in_block = [], []
        for dim, dimension in enumerate(layout.dimension):
            c = span_coord[dim] + layout.offset[dim]
            self._forbid("F-TA-6", f"coordinate {dim} is beyond 32 signed bits", c > _S32_MAX)
            endless = dim == 0 and dimension == _U32 and layout.clamp_mode not in _REPEATING
            if dimension > _S32_MAX and not endless:
                self._forbid("F-TA-6", f"dimension {dim} is {dimension}, which signed and unsigned comparisons treat differently")
            outside = ((c < 0) | (c >= dimension)) & ~(self._skipped | self._clamped)
            if outside.any():
                c = self._clamp(dim, c, outside)
            size = layout.block_size[dim]
            if size == 0:
                self._forbid("F-TA-12", f"block size {dim} is 0")
            elif size > 1 and self._store:
                self._forbid("CM2-ST-03", f"a store with block size {size} in dimension {dim}")
            block, inside = np.divmod(c, max(size, 1))
            block_coord.append(block)
            coord_in_block.append(inside)
        return block_coord, coord_in_block

    def _clamp(self, dim: int, c: np.ndarray, outside: np.ndarray) -> np.ndarray:
        """Return coordinates in dimension ``dim``, with the clamp mode applied to those in ``outside``."""
        size, mode = self._layout.dimension[dim], self._layout.clamp_mode
        if self._store and mode is not TensorClampMode.Undefined:
            mode = TensorClampMode.Constant
        if mode is TensorClampMode.Undefined:
            at = int(c[outside][0])
            self._forbid(
                "CM2-CL-01", f"coordinate {at} is outside of dimension {dim}, which has {size}, with clamp mode Undefined", outside
            )
            return c
        if mode is TensorClampMode.Constant:
            self._clamped = self._clamped | outside
            return c
        if size == 0:
            self._forbid("F-TA-12", f"dimension {dim} is 0, so no coordinate is in it", outside)
            return c
        if mode is TensorClampMode.ClampToEdge:
            return np.where(outside, np.minimum(np.maximum(c, 0), size - 1), c)
        # numpy's remainder of integers has the sign of the divisor, like OpSMod's (F-TA-4).
        if mode is TensorClampMode.Repeat:
            return np.where(outside, c % size, c)
        if size == 1:
            self._forbid("F-TA-2", f"dimension {dim} is 1, so the period of its mirrored repetition is 0", outside)
            return np.where(outside, 0, c)
        period = 2 * size - 2
        if period > _S32_MAX:
            self._forbid("F-TA-6", f"the period {period} of dimension {dim}, mirrored, is beyond 32 signed bits", outside)
        folded = c % period
        return np.where(outside, np.where(folded >= size, period - folded, folded), c)

    def _number(self, coord: Sequence[np.ndarray]) -> np.ndarray:
        """Return the number of each element (tensorCoordToLinear): with 64 bits for 64-bit indexing, else modulo 2^32."""
        total = np.zeros_like(self._row)
        for c, s in zip(coord, self._layout.stride, strict=True):
            total = total + c * s
        if self._wide:
            return total
        self._forbid("F-TA-7", "the element's index is beyond 2^32", total > _U32)
        return total & _U32

    def _dot(self, coord: Sequence[np.ndarray], stride: Sequence[int], what: str) -> np.ndarray:
        """Return the sum of coordinates of a view times its strides, modulo 2^32."""
        total = np.zeros_like(self._row)
        beyond = np.zeros_like(self._skipped)
        for c, s in zip(coord, stride, strict=True):
            product = c * s
            beyond |= product > _S32_MAX
            total += product & _U32
        beyond |= total > _S32_MAX
        self._forbid("F-TA-7", f"{what} is beyond 2^31", beyond)
        return total & _U32

    def _check_distinct(self, index: np.ndarray) -> None:
        """Note if two elements are stored to one place: the specification does not say which one remains."""
        stored = ~(self._skipped | self._clamped)
        found, first, count = np.unique(index[stored], return_index=True, return_counts=True)
        if (count > 1).any():
            which = int(np.flatnonzero(count > 1)[0])
            row, column = (int(i) for i in np.argwhere(stored)[first[which]])
            self._broken.setdefault(
                "F-TA-11", f"element ({row}, {column}): {int(count[which])} elements are stored to one place, index {int(found[which])}"
            )
