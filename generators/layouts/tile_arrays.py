"""Arrays of equal tiles, which whole matrices are loaded from and stored to, for families that do not test addresses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from generators.program.builder import ProgramBuilder
from generators.program.memory import Array, Pointee
from generators.program.values import Matrix, MatrixType, Scalar, ScalarValue
from generators.types import ComponentType, Layout, StorageClass


@dataclass(frozen=True)
class TileArray:
    """``count`` tiles for each scope instance, one after the other, in rows (columns) without padding.

    Attributes:
        array: in a storage buffer.
        type: of the matrices.
        layout: of each tile.
    """

    array: Array
    type: MatrixType
    count: int
    layout: Layout

    @property
    def _size(self) -> int:
        rows, columns = self.type.shape
        return rows * columns

    def _place(self, builder: ProgramBuilder, name: str, tile: int | Scalar) -> tuple[ScalarValue, ScalarValue]:
        first: ScalarValue = builder.literal(tile * self._size) if isinstance(tile, int) else self._scaled(builder, name, tile)
        if builder.instances > 1:
            first = builder.offset(f"{name}_place", first, builder.instance_index(), self._size * self.count)
        rows, columns = self.type.shape
        return first, builder.literal(columns if self.layout is Layout.ROW_MAJOR else rows)

    def _scaled(self, builder: ProgramBuilder, name: str, tile: Scalar) -> Scalar:
        return builder.arithmetic(f"{name}_tile", "multiply", tile, builder.literal(self._size))

    def load(self, builder: ProgramBuilder, name: str, tile: int | Scalar) -> Matrix:
        """Load the matrix of a tile."""
        first, stride = self._place(builder, name, tile)
        return builder.load(name, self.type, self.array, first, stride, self.layout)

    def store(self, builder: ProgramBuilder, matrix: Matrix, tile: int | Scalar) -> None:
        """Store ``matrix`` to a tile. No other matrix that is stored has its name."""
        first, stride = self._place(builder, f"{matrix.name}_out", tile)
        builder.store(matrix, self.array, first, stride, self.layout)


def tile_array(builder: ProgramBuilder, name: str, type_: MatrixType, count: int, layout: Layout, output: bool = False) -> TileArray:
    """Declare an input, or an output, of ``count`` tiles for each instance."""
    rows, columns = type_.shape
    length = rows * columns * count * builder.instances
    array = builder.array(name, Pointee(type_.component), length, StorageClass.STORAGE_BUFFER, "output" if output else "input")
    return TileArray(array, type_, count, layout)


def tame_bits(component: ComponentType, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw random bits of the whole width for integers; for floats random signs, all bits of the significand, and magnitudes from 2**-3
    to 2**3, so small factors give exact, normal results. Unsigned, (count,)."""
    if not component.is_float:
        return rng.integers(0, 1 << component.bits, count, dtype=np.uint64, endpoint=False).astype(component.bits_dtype)
    hidden = component.precision - 1
    one = int(np.ones((), component.dtype).view(component.bits_dtype)) >> hidden
    exponents = rng.integers(one - 3, one + 3, count, dtype=np.uint64)
    fractions = rng.integers(0, 1 << hidden, count, dtype=np.uint64)
    signs = rng.integers(0, 2, count, dtype=np.uint64)
    bits = signs << np.uint64(component.bits - 1) | exponents << np.uint64(hidden) | fractions
    return bits.astype(component.bits_dtype)
