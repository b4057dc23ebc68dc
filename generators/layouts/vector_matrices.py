"""Matrices that matrix-vector multiplies read, in an array."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from generators.layouts.inner_arrays import InnerArrays
from generators.numerics.formats import finite, signalling_nans
from generators.program.builder import ProgramBuilder
from generators.program.cooperative_vectors import VECTOR_ALIGNMENT
from generators.program.memory import MATRIX_ALIGNMENT, Array, Pointee
from generators.program.vector_builder import VectorBuilder
from generators.types import ComponentType, ConversionCommand, StorageClass, VectorMatrixLayout
from generators.windows import Window, Windows

_FAR = 1 << 20
"""The distance from the start beyond which a case does not have all bytes before the first matrix."""


@dataclass(frozen=True)
class VectorMatrices:
    """Matrices of one type and shape in an array, one after another.

    Attributes:
        component: type of their elements.
        rows, columns: M and K in the multiplication.
        layout: the layout of all matrices.
        count: number of matrices.
        transpose: whether they are stored as K x M; only in an optimal layout.
        first: bytes before the first matrix, a multiple of 64; 0 in an optimal layout.
        padding: bytes between rows (columns) beyond the minimum, a multiple of 16; without meaning in an optimal layout.
        command: the command that converts them to an optimal layout.
        stagger: how much longer the stride of each matrix is than that of the one before, in bytes, a multiple of 16.
        apart: bytes after each matrix that belong to none, a multiple of 64.
    """

    component: ComponentType
    rows: int
    columns: int
    layout: VectorMatrixLayout
    count: int = 1
    transpose: bool = False
    first: int = 0
    padding: int = 0
    command: ConversionCommand = "device"
    stagger: int = 0
    apart: int = 0

    @property
    def lines(self) -> tuple[int, int]:
        """Number of rows (columns) of each matrix in memory, and of elements in each."""
        by_rows = self.layout is VectorMatrixLayout.ROW_MAJOR or (self.layout.is_optimal and not self.transpose)
        return (self.rows, self.columns) if by_rows else (self.columns, self.rows)

    @property
    def stride(self) -> int:
        """Distance from a row (column) of the first matrix to the next, in bytes."""
        return -(-self.lines[1] * self.component.bytes // VECTOR_ALIGNMENT) * VECTOR_ALIGNMENT + self.padding

    @property
    def pitch(self) -> int:
        """Distance from a matrix to the next in bytes, unless the device decides it."""
        longest = self.stride + (self.count - 1) * self.stagger
        return -(-self.lines[0] * longest // MATRIX_ALIGNMENT) * MATRIX_ALIGNMENT + self.apart

    @property
    def bytes(self) -> int:
        """Size in bytes of the array in subcases."""
        if self.layout.is_optimal:
            return self.count * self.rows * self.columns * self.component.bytes
        return self.first + self.count * self.pitch

    @property
    def held(self) -> int:
        """Number of bytes that a subcase has: if the first matrix is far from the start, those around the matrices, and as many at the
        start, where a shorter offset leads."""
        return self.bytes if self._windows is None else self._windows.bytes

    @property
    def _windows(self) -> Windows | None:
        if self.first <= _FAR:
            return None
        begin = self.first - MATRIX_ALIGNMENT
        around = self.bytes - begin
        return Windows(self.bytes, (Window(0, around), Window(begin, around)))

    def declare(
        self,
        builder: ProgramBuilder,
        name: str,
        storage: StorageClass = StorageClass.STORAGE_BUFFER,
        pointee: Pointee | None = None,
        inner: InnerArrays | None = None,
        more: int = 0,
    ) -> Array:
        """Declare the array; its elements have the component type unless ``pointee`` is given.

        Args:
            inner: the inner arrays that contain the matrices, unless the device decides their layout.
            more: bytes after the matrices.

        Raises:
            GeneratorError: the array is not a whole number of pointees.
        """
        if self.layout.is_optimal:
            rows, columns = self.lines
            vectors = VectorBuilder(builder)
            form = self.component, rows, columns, self.layout, self.count
            return vectors.opaque(name, *form, storage=storage, pointee=pointee, command=self.command)
        element = Pointee(self.component) if pointee is None else pointee
        within = None if inner is None else inner.declared(self.bytes, self.pitch, element.bytes)
        return builder.declare(
            Array(name, element, (self.bytes + more) // element.bytes, storage, "input", inner=within, windows=self._windows)
        )

    def contents(self, matrices: np.ndarray, rng: np.random.Generator, nan: bool = True) -> np.ndarray:
        """Return the contents of the array, uint8, with random bytes around rows (columns); for floats, they are finite numbers. NaN may
        follow a row (column) of floats: if a device reads and multiplies it by zero, the result reveals the read.

        Args:
            matrices: (count, rows, columns), of the component's dtype.
            nan: whether half of the rows (columns), including the very first, have NaN beside them; otherwise none has.
        """
        if self._windows is not None:
            near = replace(self, first=MATRIX_ALIGNMENT).contents(matrices, rng, nan)
            # Other finite numbers: the same matrices in reverse, without their offset.
            return np.concatenate([near.view(self.component.bits_dtype)[::-1].copy().view(np.uint8), near])
        transposed = self.transpose or self.layout is VectorMatrixLayout.COLUMN_MAJOR
        stored = np.ascontiguousarray(matrices.transpose(0, 2, 1) if transposed else matrices)
        if self.layout.is_optimal:
            return stored.view(np.uint8).reshape(-1)
        contents = rng.integers(0, 256, self.bytes, np.uint8)
        if self.component.is_float and self.component.bits > 8:
            contents = finite(contents.view(self.component.bits_dtype), self.component).view(np.uint8)
        lines, length = self.lines
        data = stored.view(np.uint8).reshape(self.count, lines, -1)
        for matrix, first in enumerate(range(self.first, self.bytes, self.pitch)):
            # A view of whole rows (columns), with the bytes that follow each.
            stride = self.stride + matrix * self.stagger
            whole = contents[first : first + lines * stride].reshape(lines, stride)
            if self.component.is_float and self.component.bits > 8:
                padding = np.ascontiguousarray(whole[:, length * self.component.bytes :]).view(self.component.bits_dtype)
                beside = (rng.random((lines, 1)) < 0.5) | ((np.arange(lines)[:, None] == 0) & (matrix == 0))
                nans = signalling_nans(padding, self.component)
                whole[:, length * self.component.bytes :] = np.where(beside & nan, nans, padding).view(np.uint8)
            whole[:, : length * self.component.bytes] = data[matrix]
        return contents
