"""Tiles that all invocations of a workgroup copy together, with bounds: kernels copy their factors into workgroup memory in this way, and
their results out of it."""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.memory import Array
from generators.program.operation import Effect
from generators.program.values import ScalarValue


@dataclass(frozen=True)
class Window:
    """The place of a tile in an array of lines.

    Attributes:
        array: an array of scalars.
        stride: elements from one line to the next, u32.
        row, column: the position of the tile's first element, u32.
        limits: number of existing rows and columns, u32; None if the whole tile exists.
    """

    array: Array
    stride: ScalarValue
    row: ScalarValue
    column: ScalarValue
    limits: tuple[ScalarValue, ScalarValue] | None = None


@dataclass(frozen=True)
class TileCopied(Effect):
    """The target has ``rows`` x ``columns`` elements of the source. Elements beyond the source's limits are zero; those beyond the target's
    are not written. ``transposed``: element (r, c) of the source is (c, r) of the target. All numbers are uniform over the workgroup, and
    all of its invocations execute the code."""

    target: Window
    source: Window
    rows: int
    columns: int
    transposed: bool = False
