"""Tiles of the operands and results of multiply-adds, one array for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from generators.layouts.matrix_arrays import Tiles, fit_workgroup_memory, tiled
from generators.layouts.row_types import row_type
from generators.program.values import MatrixType
from generators.property_rows import PropertyRow
from generators.types import Layout, Scope, StorageClass, of_other_sign

Form = Literal["single", "reuse", "loop", "loop_fixed", "accumulators"]
"""The sequence of multiply-adds: one; one with the same operands again; a loop with different or the same operands in each iteration; or
four accumulators in one loop."""

LOOPS = ("loop", "loop_fixed", "accumulators")

Declared = Literal["same", "opposite", "a", "b", "c", "result"]
"""The integers that the shader declares with the other signedness: none, all, or the integers of one matrix."""


def _declared_type(type_: MatrixType, opposite: bool) -> MatrixType:
    """Return the type that the shader declares. ``opposite``: whether integers have the other signedness; only operand flags matter."""
    return replace(type_, component=of_other_sign(type_.component)) if opposite and not type_.component.is_float else type_


@dataclass(frozen=True)
class ProductTiles:
    """The number of operands of each kind, and the placement of their tiles.

    Attributes:
        row: the property row.
        steps: tiles of A and B per accumulator; ``trips``: iterations of the loop (0 too); ``repeats``: the number of times that each
            product is added.
        a, b, c, d: tiles by name of the array.
    """

    row: PropertyRow
    steps: int
    trips: int
    repeats: int
    a: dict[str, Tiles]
    b: dict[str, Tiles]
    c: dict[str, Tiles]
    d: dict[str, Tiles]

    @property
    def given(self) -> dict[str, Tiles]:
        """Tiles of all operands, A, B and C, by name of the array."""
        return self.a | self.b | self.c

    def fit(self, storage: StorageClass) -> bool:
        """Return whether the arrays of all operands and results fit in ``storage``: workgroup memory is limited."""
        return fit_workgroup_memory(storage, (self.given | self.d).values())


_GRID = {"accumulators": (("0", "1"), ("0", "1"))}


def product_tiles(
    row: PropertyRow,
    scope: Scope,
    layouts: Sequence[Layout],
    padded: bool,
    count: int,
    form: Form = "single",
    trips: int = 1,
    declared: Declared = "same",
) -> ProductTiles:
    """Return the tiles of multiply-adds.

    Args:
        row: the property row.
        scope: the scope of the matrices.
        layouts: the layouts of A, B, C and Result.
        padded: whether padding follows each line.
        count: scope instances.
        form, declared: see their types.
        trips: iterations, if the form is a loop.
    """
    trips = trips if form in LOOPS else 1
    steps = trips if form in ("loop", "accumulators") else 1
    repeats = {"loop_fixed": trips, "reuse": 2}.get(form, 1)
    names_a, names_b = _GRID.get(form, (("",), ("",)))
    pairs = [a + b for a in names_a for b in names_b]
    outputs = ["0", "1"] if form == "reuse" else pairs
    a, b, c, d = (
        tiled(_declared_type(row_type(row, name, scope), declared in ("opposite", word)), layout, padded, (count, each))
        for name, word, layout, each in zip("abcd", ("a", "b", "c", "result"), layouts, (steps, steps, 1, 1), strict=True)
    )
    return ProductTiles(
        row,
        steps,
        trips,
        repeats,
        {f"a{name}": a for name in names_a},
        {f"b{name}": b for name in names_b},
        {f"c{name}": c for name in pairs},
        {f"d{name}": d for name in outputs},
    )
