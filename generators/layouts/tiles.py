"""Tiles of matrices in arrays: where each lies, and whether the arrays of a case fit in workgroup memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from generators.program.builder import ProgramBuilder
from generators.program.values import Operand, Scalar
from generators.types import ComponentType, Layout, StorageClass

WORKGROUP_BYTES = 24 * 1024
"""The most workgroup memory of a case: with the 8 KiB that a driver may reserve it fits in what every device has."""


@dataclass(frozen=True)
class Tiles:
    """Tiles of one matrix in its array: one for each instance and step.

    Attributes:
        component: as declared. ``rows``, ``columns``, ``layout``: of a tile.
        stride, pitch, length: in components.
        steps: tiles per instance.
    """

    component: ComponentType
    rows: int
    columns: int
    layout: Layout
    stride: int
    pitch: int
    steps: int
    length: int

    @property
    def bytes(self) -> int:
        """Of the whole array."""
        return self.length * self.component.bytes

    def place(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """``values`` (instances, steps, rows, columns) as the array's bytes; random bytes between them."""
        size = self.component.bytes
        data = rng.integers(0, 256, self.length * size, np.uint8).view(self.component.bits_dtype)
        bits = values.view(self.component.bits_dtype)
        if self.layout is Layout.COLUMN_MAJOR:
            bits = bits.swapaxes(-1, -2)
        instances, steps, runs, run = bits.shape
        tile = np.arange(instances * steps).reshape(instances, steps, 1, 1) * self.pitch
        data[tile + np.arange(runs)[:, None] * self.stride + np.arange(run)] = bits
        return data.view(np.uint8)


def tiled(component: ComponentType, shape: tuple[int, int], layout: Layout, padded: bool, count: tuple[int, int]) -> Tiles:
    """Tiles of ``shape`` for ``count`` (instances, steps), each line ``padded`` or not, aligned as KHR-ALIGN-01 asks."""
    rows, columns = shape
    runs, run = (rows, columns) if layout is Layout.ROW_MAJOR else (columns, rows)
    granule = max(1, min(16, run * component.bytes) // component.bytes)
    # A line of 24 bytes is no multiple of 16.
    stride = -(-run // granule) * granule + (granule if padded else 0)
    pitch = -(-(stride * (runs - 1) + run) // granule) * granule + (granule if padded else 0)
    instances, steps = count
    return Tiles(component, rows, columns, layout, stride, pitch, steps, pitch * instances * max(1, steps))


def fit_workgroup_memory(storage: StorageClass, arrays: Iterable[Tiles]) -> bool:
    """Return whether workgroup memory, if that is the ``storage``, holds all arrays."""
    return storage is not StorageClass.WORKGROUP or sum(tiles.bytes for tiles in arrays) <= WORKGROUP_BYTES


def first_tile(builder: ProgramBuilder, name: str, tiles: Tiles) -> Operand | Scalar:
    """Where the first tile of the own instance begins, in components; a value that is computed has ``name`` in its own."""
    zero = builder.literal(0)
    return zero if builder.instances == 1 else builder.offset(f"{name}_first", zero, builder.instance_index(), tiles.pitch)
