"""Tiles of the operands and results of multiply-adds, in an array for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from generators.layouts.tiles import Tiles, tiled
from generators.property_rows import PropertyRow
from generators.types import COMPONENT_TYPES, ComponentType, Layout

Form = Literal["single", "reuse", "loop", "loop_fixed", "accumulators"]
"""How multiply-adds follow each other: one; the same operands again; carried through a loop with operands of each iteration, or with the
same; and four accumulators in one loop."""

LOOPS = ("loop", "loop_fixed", "accumulators")

Declared = Literal["same", "opposite", "a", "b", "c", "result"]
"""Which integers the shader declares with the other signedness: none, all, or those of one matrix."""

_OPPOSITE = {"s": "u", "u": "s"}


def _declared(component: ComponentType, flipped: bool) -> ComponentType:
    """The type that the shader declares: integers of the other signedness where asked, since only the operand flags count."""
    if component.is_float or not flipped:
        return component
    return COMPONENT_TYPES[_OPPOSITE[component.name[0]] + component.name[1:]]


@dataclass(frozen=True)
class ProductTiles:
    """How many operands of each kind there are, and where their tiles are.

    Attributes:
        row: the property row.
        steps: tiles of A and B per accumulator; ``trips``: iterations of the loop (0 too); ``repeats``: how often each product is added.
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


_GRID = {"accumulators": (("0", "1"), ("0", "1"))}


def product_tiles(
    row: PropertyRow,
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
        layouts: of A, B, C and Result.
        padded: whether lines are followed by padding.
        count: scope instances.
        form, declared: see their types.
        trips: iterations, where the form is a loop.
    """
    trips = trips if form in LOOPS else 1
    steps = trips if form in ("loop", "accumulators") else 1
    repeats = {"loop_fixed": trips, "reuse": 2}.get(form, 1)
    types = {
        name: _declared(component, declared in ("opposite", name))
        for name, component in (("a", row.a), ("b", row.b), ("c", row.c), ("result", row.result))
    }
    of_a, of_b, of_c, of_d = layouts
    names_a, names_b = _GRID.get(form, (("",), ("",)))
    pairs = [a + b for a in names_a for b in names_b]
    outputs = ["0", "1"] if form == "reuse" else pairs
    a = tiled(types["a"], (row.m, row.k), of_a, padded, (count, steps))
    b = tiled(types["b"], (row.k, row.n), of_b, padded, (count, steps))
    c = tiled(types["c"], (row.m, row.n), of_c, padded, (count, 1))
    d = tiled(types["result"], (row.m, row.n), of_d, padded, (count, 1))
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
