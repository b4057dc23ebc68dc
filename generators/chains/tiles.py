"""Operands for programs that choose at run time what they multiply: every scope instance has eight tiles of A and of B, two of C, and
two outputs, and any sum in which each tile occurs once is exact.

Tiles are squares of the larger dimension, all of which holds data of the operand's kind, so an access in the other layout, with
another stride or to another tile is defined and gives another matrix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from generators.inputs import integers, products
from generators.inputs.products import Chain
from generators.parameters.vocabulary import OPERAND_USES
from generators.program.builder import ProgramBuilder
from generators.program.memory import Array, Pointee
from generators.program.values import Matrix, MatrixType, ScalarValue
from generators.property_rows import PropertyRow
from generators.types import ComponentType, Layout, Scope, StorageClass

STEPS = 8
"""Tiles of A and of B."""

_OUTPUTS = ("d0", "d1")
_SHAPES = {"a": ("m", "k"), "b": ("k", "n"), "c": ("m", "n"), "d": ("m", "n")}


def fits(row: PropertyRow) -> bool:
    """Return whether sums of ``STEPS`` products can be carried, and exact ones have bits enough: C has Result's type, a float has at least
    eleven bits of significand, and nothing saturates."""
    return row.c is row.result and not row.saturating and (not row.result.is_float or row.result.precision >= 11)


@dataclass(frozen=True)
class Square:
    """The tiles of one operand, all counted in components.

    Attributes:
        component: as declared.
        rows, columns: of the matrix.
        side: of the square that a tile fills.
        stride: between lines.
        pitch: between tiles.
        steps: tiles of an instance.
    """

    component: ComponentType
    rows: int
    columns: int
    side: int
    stride: int
    pitch: int
    steps: int

    def place(self, values: np.ndarray, layout: Layout, rng: np.random.Generator) -> np.ndarray:
        """Return the bytes of the array, uint8: ``values`` (instances, steps, rows, columns), repeated to fill squares, and random bytes
        after lines."""
        instances, steps, rows, columns = values.shape
        whole = np.pad(values, ((0, 0), (0, 0), (0, self.side - rows), (0, self.side - columns)), mode="wrap")
        bits = whole.view(self.component.bits_dtype)
        if layout is Layout.COLUMN_MAJOR:
            bits = bits.swapaxes(-1, -2)
        data = rng.integers(0, 256, instances * steps * self.pitch * self.component.bytes, np.uint8).view(self.component.bits_dtype)
        data.reshape(instances, steps, self.side, self.stride)[..., : self.side] = bits
        return np.asarray(data.view(np.uint8))


def square(row: PropertyRow, operand: str) -> Square:
    """Return the tiles of operand ``a``, ``b``, ``c`` or ``d``. Lines are padded, and aligned to 16 bytes, enough for any layout."""
    component: ComponentType = {"a": row.a, "b": row.b, "c": row.c, "d": row.result}[operand]
    rows, columns = (getattr(row, name) for name in _SHAPES[operand])
    side = max(rows, columns)
    granule = max(1, 16 // component.bytes)
    stride = -(-side // granule) * granule + granule
    return Square(component, rows, columns, side, stride, stride * side, {"c": 2, "d": 1}.get(operand, STEPS))


class ChainWriter:
    """Writes programs over these operands.

    Attributes:
        builder: of the program.
        row: types and sizes of the matrices.
        scope: of the matrices.
        layouts: by operand: a, b, c, d.
        squares: tiles by operand.
        arrays: by operand, and ``d0`` and ``d1``.
    """

    def __init__(
        self, row: PropertyRow, builder: ProgramBuilder, scope: Scope, layouts: Mapping[str, Layout], storage: StorageClass
    ) -> None:
        self.builder = builder
        self.row = row
        self.scope = scope
        self.layouts = layouts
        self.squares = {operand: square(row, operand) for operand in _SHAPES}
        self.arrays: dict[str, Array] = {}
        count = builder.instances
        for operand in "abc":
            tiles = self.squares[operand]
            length = tiles.pitch * tiles.steps * count
            self.arrays[operand] = builder.array(operand, Pointee(tiles.component), length, storage, "input")
        for name in _OUTPUTS:
            tiles = self.squares["d"]
            self.arrays[name] = builder.array(name, Pointee(tiles.component), tiles.pitch * count, storage, "output")
        # Computed before any branch, so every arm knows where the tiles of this instance begin.
        self._bases: dict[str, ScalarValue] = {}
        if count > 1:
            index = builder.instance_index()
            for operand, tiles in self.squares.items():
                pitch = builder.literal(tiles.pitch * tiles.steps)
                self._bases[operand] = builder.arithmetic(f"{operand}_base", "multiply", index, pitch)
        self._count = 0

    def output(self, name: str) -> str:
        """Declare one more output."""
        tiles = self.squares["d"]
        pointee = Pointee(tiles.component)
        length = tiles.pitch * self.builder.instances
        self.arrays[name] = self.builder.array(name, pointee, length, self.arrays["d0"].storage, "output")
        return name

    def name(self, what: str) -> str:
        """Make a name that nothing else has."""
        self._count += 1
        return f"{what}_{self._count}"

    def type(self, operand: str) -> MatrixType:
        """Return the matrix type of an operand."""
        tiles = self.squares[operand]
        return MatrixType(tiles.component, self.scope, tiles.rows, tiles.columns, OPERAND_USES[operand])

    def first(self, operand: str, tile: int | ScalarValue) -> ScalarValue:
        """Compute the element at which a tile of this instance begins."""
        builder, pitch = self.builder, self.squares[operand].pitch
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
        step = self.builder.literal(self.squares[operand].stride) if stride is None else stride
        chosen = self.layouts[operand] if layout is None else layout
        return self.builder.load(self.name(operand), self.type(operand), self.arrays[operand], at, step, chosen)

    def muladd(self, a: Matrix, b: Matrix, c: Matrix) -> Matrix:
        """Compute ``a`` x ``b`` + ``c``."""
        operands = self.row.operands or None
        return self.builder.muladd(self.name("sum"), self.type("d"), a, b, c, operands)

    def add(self, tile: int | ScalarValue, c: Matrix) -> Matrix:
        """Add the product of a tile of A and the same one of B to ``c``."""
        return self.muladd(self.load("a", tile), self.load("b", tile), c)

    def store(self, matrix: Matrix, output: str = "d0", layout: Layout | None = None) -> None:
        """Store to an output, by default in the layout of Result."""
        stride = self.builder.literal(self.squares["d"].stride)
        self.builder.store(matrix, self.arrays[output], self.first("d", 0), stride, layout or self.layouts["d"])

    def inputs(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw the contents of a, b and c as uint8: floats whose sums are exact, integers with all bits random."""
        row = self.row
        chain = Chain(row, self.builder.instances, STEPS)
        drawn = products.exact(chain, rng) if row.result.is_float else integers.wrapping(chain, rng)
        addends = np.stack((drawn.c, np.roll(drawn.c, 3, axis=-2)[..., ::-1]), axis=1)
        data = {"a": drawn.a, "b": drawn.b, "c": np.ascontiguousarray(addends)}
        return {name: self.squares[name].place(values, self.layouts[name], rng) for name, values in data.items()}
