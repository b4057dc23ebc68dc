"""Tiles that all invocations of a workgroup copy together, with bounds: how kernels bring what they multiply into workgroup memory, and
what they computed out of it."""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.memory import Array
from generators.program.stated import Effect
from generators.program.values import ScalarValue


@dataclass(frozen=True)
class Window:
    """Where a tile begins in an array of lines.

    Attributes:
        array: of scalars.
        stride: elements from one line to the next, u32.
        row, column: of the tile's first element, u32.
        limits: rows and columns that there are, u32; None where the whole tile is there.
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
