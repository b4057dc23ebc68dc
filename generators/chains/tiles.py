"""Operands for programs that choose their factors at run time: every scope instance has eight tiles of A and of B, two of C, and
two outputs, and any sum in which each tile occurs once is exact.

Each tile is a square with the larger dimension as its side. All of it holds data of the operand's kind, so an access in the other layout,
with another stride or to another tile is defined and gives another matrix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from generators.inputs import integers, products
from generators.inputs.products import Chain
from generators.layouts.matrix_arrays import MatrixArray, Tiles, granule_of, matrix_source, matrix_target, tiled
from generators.layouts.row_types import row_type
from generators.program.builder import ProgramBuilder
from generators.program.values import Matrix, MatrixType, ScalarValue
from generators.property_rows import PropertyRow
from generators.types import Layout, Scope, StorageClass

STEPS = 8
"""Tiles of A and of B."""

_OUTPUTS = ("d0", "d1")
_STEPS = {"a": STEPS, "b": STEPS, "c": 2, "d": 1}
"""Tiles of each operand."""


def fits(row: PropertyRow) -> bool:
    """Return whether sums of ``STEPS`` products can be carried and have enough bits to be exact: C has Result's type, a float has at least
    eleven bits of significand, and nothing saturates."""
    return row.c is row.result and not row.saturating and (not row.result.is_float or row.result.precision >= 11)


def square_tiles(type_: MatrixType, layout: Layout, count: tuple[int, int]) -> Tiles:
    """Return tiles that each fill a square. Lines are padded and aligned to 16 bytes, which suffices for any layout."""
    side = max(type_.shape)
    square = tiled(replace(type_, rows=side, columns=side), layout, True, count, granule=granule_of(type_.component))
    return replace(square, type=type_)


class ChainWriter:
    """Writes programs over these operands.

    Attributes:
        builder: the builder of the program.
        row: types and sizes of the matrices.
        scope: the scope of the matrices.
        layouts: the layouts of the operands a, b, c and d.
        tiles: the tiles of each operand.
        arrays: the array of each operand, and the arrays ``d0`` and ``d1``.
    """

    def __init__(
        self, row: PropertyRow, builder: ProgramBuilder, scope: Scope, layouts: Mapping[str, Layout], storage: StorageClass
    ) -> None:
        self.builder = builder
        self.row = row
        self.scope = scope
        self.layouts = layouts
        count = builder.instances
        self.tiles = {
            operand: square_tiles(row_type(row, operand, scope), layouts[operand], (count, steps)) for operand, steps in _STEPS.items()
        }
        self.arrays: dict[str, MatrixArray] = {name: matrix_source(builder, name, self.tiles[name], storage) for name in "abc"}
        for name in _OUTPUTS:
            self.arrays[name] = matrix_target(builder, name, self.tiles["d"], storage)
        # Computed before any branch, so every arm knows where the tiles of this instance begin.
        self._bases: dict[str, ScalarValue] = {}
        if count > 1:
            index = builder.instance_index()
            for operand, tiles in self.tiles.items():
                self._bases[operand] = builder.arithmetic(f"{operand}_base", "multiply", index, builder.literal(tiles.own_pitch))
        self._count = 0

    def output(self, name: str) -> str:
        """Declare one more output."""
        self.arrays[name] = matrix_target(self.builder, name, self.tiles["d"], self.arrays["d0"].array.storage)
        return name

    def name(self, what: str) -> str:
        """Make a unique name."""
        self._count += 1
        return f"{what}_{self._count}"

    def type(self, operand: str) -> MatrixType:
        """Return the matrix type of an operand."""
        return self.tiles[operand].type

    def first(self, operand: str, tile: int | ScalarValue) -> ScalarValue:
        """Compute the index of the first element of a tile of this instance."""
        builder, pitch = self.builder, self.tiles[operand].pitch
        if isinstance(tile, int):
            step: ScalarValue = builder.literal(tile * pitch)
        else:
            step = builder.arithmetic(self.name(f"{operand}_step"), "multiply", tile, builder.literal(pitch))
        base = self._bases.get(operand)
        return step if base is None else builder.arithmetic(self.name(f"{operand}_first"), "add", base, step)

    def load(
        self,
        operand: str,
        tile: int | ScalarValue,
        layout: Layout | None = None,
        stride: ScalarValue | None = None,
        first: ScalarValue | None = None,
    ) -> Matrix:
        """Load a tile, by default in the operand's layout and stride."""
        at = self.first(operand, tile) if first is None else first
        return self.arrays[operand].load(self.name(operand), at, stride, layout)

    def muladd(self, a: Matrix, b: Matrix, c: Matrix) -> Matrix:
        """Compute ``a`` x ``b`` + ``c``."""
        operands = self.row.operands or None
        return self.builder.muladd(self.name("sum"), self.type("d"), a, b, c, operands)

    def add(self, tile: int | ScalarValue, c: Matrix) -> Matrix:
        """Add the product of a tile of A and the tile of B with the same number to ``c``."""
        return self.muladd(self.load("a", tile), self.load("b", tile), c)

    def store(self, matrix: Matrix, output: str = "d0", layout: Layout | None = None) -> None:
        """Store to an output, by default in the layout of Result."""
        self.arrays[output].store(matrix, self.first("d", 0), layout=layout)

    def inputs(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw the contents of a, b and c as uint8: floats with exact sums, integers with all bits random."""
        row = self.row
        chain = Chain(row, self.builder.instances, STEPS)
        drawn = products.exact(chain, rng) if row.result.is_float else integers.wrapping(chain, rng)
        addends = np.stack((drawn.c, np.roll(drawn.c, 3, axis=-2)[..., ::-1]), axis=1)
        found = {}
        for name, values in (("a", drawn.a), ("b", drawn.b), ("c", addends)):
            tiles = self.tiles[name]
            side = max(tiles.rows, tiles.columns)
            rest = ((0, 0), (0, 0), (0, side - tiles.rows), (0, side - tiles.columns))
            square = np.pad(values, rest, mode="wrap") if tiles.rows != tiles.columns else values
            found[name] = tiles.contents(square, rng)
        return found
