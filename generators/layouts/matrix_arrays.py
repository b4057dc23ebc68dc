"""Matrices in arrays: their placement, the loads and stores of a program, and the contents of their arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from generators.inputs.patterns import index_coded
from generators.layouts.placement import Target, stage_in, stage_out
from generators.program.builder import ProgramBuilder
from generators.program.load_store import MemoryLayout, MemoryOperand
from generators.program.memory import Inner, Pointee
from generators.program.values import Matrix, MatrixType, Scalar, ScalarValue
from generators.types import ComponentType, Layout, StorageClass

WORKGROUP_BYTES = 24 * 1024
"""Maximum workgroup memory of a case, in bytes: with the 8 KiB that a driver may reserve, it fits in the 32 KiB of every device."""

ALIGNMENT = 16
"""Maximum alignment of a matrix access in bytes (KHR-ALIGN-01)."""

OTHER_LAYOUT: Mapping[Layout, Layout] = MappingProxyType({Layout.ROW_MAJOR: Layout.COLUMN_MAJOR, Layout.COLUMN_MAJOR: Layout.ROW_MAJOR})

_STORAGE_BUFFER = StorageClass.STORAGE_BUFFER


def rounded_up(value: int, unit: int) -> int:
    """Return the least multiple of ``unit`` that is not less than ``value``."""
    return -(-value // unit) * unit


def granule_of(component: ComponentType) -> int:
    """Return the number of components in 16 bytes."""
    return max(1, ALIGNMENT // component.bytes)


@dataclass(frozen=True)
class Tiles:
    """Equal matrices in an array, one after another, counted in the array's pointee.

    Attributes:
        type: the type of each matrix.
        layout: the layout of each matrix. A line is a row, or a column if the matrix is column-major.
        stride: distance from one line to the next.
        pitch: distance from one matrix to the next.
        instances: scope instances that have matrices.
        steps: matrices of each instance; with 0 there is still one.
        first: start of the first matrix.
        of: the array's pointee; None for the component.
        end: the length of the array; None if it ends after the last pitch.
    """

    type: MatrixType
    layout: Layout
    stride: int
    pitch: int
    instances: int = 1
    steps: int = 1
    first: int = 0
    of: Pointee | None = None
    end: int | None = None

    @property
    def component(self) -> ComponentType:
        """The component type, as declared."""
        return self.type.component

    @property
    def rows(self) -> int:
        """The rows of a matrix."""
        return self.type.shape[0]

    @property
    def columns(self) -> int:
        """The columns of a matrix."""
        return self.type.shape[1]

    @property
    def pointee(self) -> Pointee:
        """The pointee of the array."""
        return self.of or Pointee(self.component)

    @property
    def own_pitch(self) -> int:
        """The distance between the matrices of neighbouring instances."""
        return self.pitch * max(1, self.steps)

    @property
    def span(self) -> int:
        """The elements from the first one of a matrix of components to its last, both included."""
        lines, line = lines_of(self.type.shape, self.layout)
        return self.stride * (lines - 1) + line

    @property
    def length(self) -> int:
        """The length of the array."""
        return self.first + self.own_pitch * self.instances if self.end is None else self.end

    @property
    def bytes(self) -> int:
        """The size of the array."""
        return self.length * self.pointee.bytes

    def contents(self, values: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
        """Return the contents of an array of components: uint8.

        Args:
            values: bits or values of the matrices, of the component's width: (..., rows, columns). There may be more rows and columns than
                a matrix has, if an access may read beyond it.
            rng: draws the bytes between the matrices. Without it, these bytes have bits that identify their positions.
        """
        component = self.component
        bits = np.ascontiguousarray(values).view(component.bits_dtype).reshape(-1, *values.shape[-2:])
        between = index_coded(component, self.length).view(np.uint8) if rng is None else rng.integers(0, 256, self.bytes, np.uint8)
        data = between.view(component.bits_dtype)
        if self.layout is Layout.COLUMN_MAJOR:
            bits = bits.swapaxes(-1, -2)
        tiles, lines, line = (np.arange(size) for size in bits.shape)
        data[self.first + tiles[:, None, None] * self.pitch + lines[:, None] * self.stride + line] = bits
        return between


def lines_of(shape: tuple[int, int], layout: Layout) -> tuple[int, int]:
    """Return the number of a matrix's lines in memory, and the components of a line."""
    rows, columns = shape
    return (rows, columns) if layout is Layout.ROW_MAJOR else (columns, rows)


def tiled(
    type_: MatrixType,
    layout: Layout,
    padding: int,
    count: tuple[int, int] = (1, 1),
    *,
    granule: int | None = None,
    apart: int = 0,
    least: int = 0,
) -> Tiles:
    """Lay out matrices with aligned lines.

    Args:
        type_: the type of each matrix.
        layout: the layout of each matrix.
        padding: granules after each line and each matrix.
        count: number of scope instances, and of matrices of each.
        granule: the alignment of lines in components; None for the minimum of KHR-ALIGN-01.
        apart: further lines between matrices.
        least: the minimum stride.
    """
    lines, line = lines_of(type_.shape, layout)
    granule = granule or max(1, min(ALIGNMENT, line * type_.component.bytes) // type_.component.bytes)
    # A line of 24 bytes is not a multiple of 16.
    stride = max(rounded_up(line, granule) + padding * granule, least)
    pitch = rounded_up(stride * (lines - 1) + line, granule) + padding * granule + stride * apart
    return Tiles(type_, layout, stride, pitch, *count)


def tight(type_: MatrixType, layout: Layout, count: tuple[int, int] = (1, 1)) -> Tiles:
    """Lay out matrices without gaps between lines or matrices. ``count``: the number of scope instances, and of matrices of each."""
    lines, line = lines_of(type_.shape, layout)
    return Tiles(type_, layout, line, lines * line, *count)


def fit_workgroup_memory(storage: StorageClass, arrays: Iterable[Tiles]) -> bool:
    """Return whether workgroup memory, if that is the ``storage``, holds all arrays."""
    return storage is not StorageClass.WORKGROUP or sum(tiles.bytes for tiles in arrays) <= WORKGROUP_BYTES


@dataclass(frozen=True)
class MatrixArray(Target):
    """An array of matrices in a program.

    Attributes:
        builder: the builder of the program.
        name: the name of the input or output; names of computed addresses begin with it.
        tiles: the placement of the matrices.
        label: names of computed addresses end with it.
    """

    builder: ProgramBuilder
    name: str
    tiles: Tiles
    label: str = "first"

    def first(self, tile: int | Scalar = 0, prefix: str = "") -> ScalarValue:
        """Return the index of the first element of a matrix of this scope instance.

        Args:
            tile: index of the matrix in the instance.
            prefix: begins the names of computed values, instead of the array's name.
        """
        builder, tiles, prefix = self.builder, self.tiles, prefix or self.name
        if isinstance(tile, int):
            begin: ScalarValue = builder.literal(tiles.first + tile * tiles.pitch)
        else:
            begin = builder.arithmetic(f"{prefix}_tile", "multiply", tile, builder.literal(tiles.pitch))
        return self.of_instance(begin, prefix)

    def of_instance(self, begin: ScalarValue, prefix: str = "") -> ScalarValue:
        """Return this scope instance's element that corresponds to ``begin`` in the first instance. Names begin with ``prefix``."""
        if self.tiles.instances == 1:
            return begin
        name = f"{prefix or self.name}_{self.label}"
        return self.builder.offset(name, begin, self.builder.instance_index(), self.tiles.own_pitch)

    def product(self, index: Scalar | None = None) -> ScalarValue:
        """Return the same element as ``first``, computed only by products, without a sum whose first term is 0; ``index`` is the index of
        the matrix."""
        builder, tiles = self.builder, self.tiles
        terms: list[ScalarValue] = []
        if tiles.instances > 1:
            label = f"{self.name}_{self.label}"
            terms.append(builder.arithmetic(label, "multiply", builder.instance_index(), builder.literal(tiles.own_pitch)))
        if index is not None:
            terms.append(builder.arithmetic(f"{self.name}_step", "multiply", index, builder.literal(tiles.pitch)))
        if len(terms) == 2:
            return builder.arithmetic(f"{self.name}_first", "add", *terms)
        return terms[0] if terms else builder.literal(0)

    def load(
        self,
        name: str = "",
        at: ScalarValue | None = None,
        stride: ScalarValue | None = None,
        layout: MemoryLayout | None = None,
        memory: MemoryOperand | None = None,
        robust: bool = False,
    ) -> Matrix:
        """Load the matrix that begins ``at`` an element. By default this is the instance's first matrix, with its own stride and layout."""
        name, type_ = name or f"matrix_{self.name}", self.tiles.type
        return self.builder.load(name, type_, self.array, *self._operands(at, stride, layout), memory, robust)

    def store(
        self,
        matrix: Matrix,
        at: ScalarValue | None = None,
        stride: ScalarValue | None = None,
        layout: MemoryLayout | None = None,
        memory: MemoryOperand | None = None,
        robust: bool = False,
    ) -> None:
        """Store ``matrix`` to the place that ``load`` reads."""
        self.builder.store(matrix, self.array, *self._operands(at, stride, layout), memory, robust)

    def _operands(
        self, at: ScalarValue | None, stride: ScalarValue | None, layout: MemoryLayout | None
    ) -> tuple[ScalarValue, ScalarValue, MemoryLayout]:
        return (
            self.first() if at is None else at,
            self.builder.literal(self.tiles.stride) if stride is None else stride,
            self.tiles.layout if layout is None else layout,
        )

    def load_tile(self, name: str, tile: int | Scalar) -> Matrix:
        """Load one of the matrices of this instance."""
        return self.load(name, self.first(tile, name))

    def store_tile(self, matrix: Matrix, tile: int | Scalar) -> None:
        """Store ``matrix`` as one of the matrices of this instance. The names of stored matrices must differ."""
        self.store(matrix, self.first(tile, f"{matrix.name}_out"))


def matrix_source(
    builder: ProgramBuilder,
    name: str,
    tiles: Tiles,
    storage: StorageClass = _STORAGE_BUFFER,
    label: str = "first",
    inner: Inner | None = None,
) -> MatrixArray:
    """Declare an input of matrices, as an array of arrays if ``inner`` says so."""
    array = stage_in(builder, name, tiles.pointee, tiles.length, storage, inner)
    return MatrixArray(array, array, builder, name, tiles, label)


def matrix_target(
    builder: ProgramBuilder,
    name: str,
    tiles: Tiles,
    storage: StorageClass = _STORAGE_BUFFER,
    label: str = "first",
    inner: Inner | None = None,
) -> MatrixArray:
    """Declare an output of matrices, as an array of arrays if ``inner`` says so; ``finish`` brings it to the host."""
    target = stage_out(builder, name, tiles.pointee, tiles.length, storage, inner)
    return MatrixArray(target.array, target.buffer, builder, name, tiles, label)


def matrix_scratch(builder: ProgramBuilder, name: str, tiles: Tiles) -> MatrixArray:
    """Declare matrices in workgroup memory; the host never sees them."""
    array = builder.array(name, tiles.pointee, tiles.length, StorageClass.WORKGROUP, "scratch")
    return MatrixArray(array, array, builder, name, tiles)


def matrix_sources(
    builder: ProgramBuilder, tiles: Mapping[str, Tiles], storage: StorageClass, label: str = "first"
) -> dict[str, MatrixArray]:
    """Declare inputs of matrices by name."""
    return {name: matrix_source(builder, name, each, storage, label) for name, each in tiles.items()}


def matrix_targets(
    builder: ProgramBuilder, tiles: Mapping[str, Tiles], storage: StorageClass, label: str = "first"
) -> dict[str, MatrixArray]:
    """Declare outputs of matrices by name."""
    return {name: matrix_target(builder, name, each, storage, label) for name, each in tiles.items()}


def _own_array(type_: MatrixType, instances: int) -> Tiles:
    """Lay out a matrix for each instance in rows, with 16 or more bytes after each row."""
    return tiled(type_, Layout.ROW_MAJOR, True, (instances, 1), granule=granule_of(type_.component))


def matrix_in(builder: ProgramBuilder, name: str, type_: MatrixType) -> Matrix:
    """Load a matrix from an input of its own, which has a different matrix for each scope instance."""
    return matrix_source(builder, name, _own_array(type_, builder.instances), label="begin").load(f"{name}_matrix")


def matrix_out(builder: ProgramBuilder, name: str, matrix: Matrix) -> None:
    """Store a matrix to an output of its own, at a different component for each scope instance."""
    matrix_target(builder, name, _own_array(matrix.type, builder.instances), label="begin").store(matrix)


def matrix_contents(type_: MatrixType, values: np.ndarray) -> np.ndarray:
    """Return contents of an input of ``matrix_in`` with the matrices ``values``: uint8.

    Args:
        type_: the type of the matrices.
        values: the component's dtype, (instances, rows, columns). The bits between the rows identify their positions.
    """
    return _own_array(type_, len(values)).contents(values, None)
