"""The optimal layouts of this device, which are opaque to shaders (Vulkan, "Cooperative Vectors").

Both layouts cut a matrix into whole tiles: elements beyond the matrix are padding. The order of the tiles and of the elements in a tile is
scrambled and depends on the profile. So code that treats such a matrix as row-major, or mistakes its layout, shape or component size, reads
wrong elements.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from generators.kernel import HeldMatrix, OpaqueSlot
from generators.types import VectorMatrixLayout

_ALIGNMENT = 64
"""Required alignment of the size and the address of a matrix, in bytes (VUID-RuntimeSpirv-OpCooperativeVectorMatrixMulNV-10097)."""

_FINITE = 0x5A
"""Bytes of a finite number of f16 and f32."""

_TILES = {VectorMatrixLayout.INFERENCING_OPTIMAL: (8, 32), VectorMatrixLayout.TRAINING_OPTIMAL: (16, 64)}
"""Rows of a tile, and bytes of one of its rows."""


def seed_of(name: str) -> int:
    """Return a number that depends only on the name of a profile."""
    return zlib.crc32(name.encode())


@dataclass(frozen=True)
class MatrixLayouts:
    """The layouts of a device with one profile. ``seed`` determines the order of tiles and elements."""

    seed: int

    def size(self, layout: VectorMatrixLayout, rows: int, columns: int, element: int) -> int:
        """Return the bytes of a matrix of elements of ``element`` bytes."""
        tile_rows, tile_columns = _tile(layout, element)
        tiles = -(-rows // tile_rows) * -(-columns // tile_columns)
        return tiles * tile_rows * tile_columns * element

    def offsets(self, layout: VectorMatrixLayout, rows: int, columns: int, element: int) -> np.ndarray:
        """Return the byte offset of each element, int64 of shape (rows, columns)."""
        return _offsets(self.seed, layout, rows, columns, element)

    def pitch(self, slot: OpaqueSlot) -> int:
        """Return the bytes from one matrix of an array to the next."""
        size = self.size(slot.layout, slot.rows, slot.columns, slot.component.bytes)
        return -(-size // _ALIGNMENT) * _ALIGNMENT

    def held(self, slot: OpaqueSlot, name: str) -> dict[int, HeldMatrix]:
        """Return the matrices of a buffer by their first byte."""
        pitch = self.pitch(slot)
        size = self.size(slot.layout, slot.rows, slot.columns, slot.component.bytes)
        return {
            at: HeldMatrix(f"{name}[{number}]", at, size, slot.component, slot.rows, slot.columns, slot.layout)
            for number, at in enumerate(range(0, slot.count * pitch, pitch))
        }

    def put_in(self, slot: OpaqueSlot, elements: np.ndarray) -> np.ndarray:
        """Return the bytes of an array of matrices. Padding is zero, or a finite number where that must not matter (CV-API-11).

        Args:
            slot: describes the matrices.
            elements: uint8, row-major elements of all matrices without padding.
        """
        contents = np.full(slot.count * self.pitch(slot), _FINITE if slot.ignores_finite_padding else 0, np.uint8)
        contents[self._places(slot)] = elements.reshape(-1, slot.component.bytes)
        return contents

    def taken_out(self, slot: OpaqueSlot, contents: np.ndarray) -> np.ndarray:
        """Return the elements of an array of matrices: the inverse of ``put_in``."""
        elements: np.ndarray = contents[self._places(slot)]
        return elements.reshape(-1)

    def _places(self, slot: OpaqueSlot) -> np.ndarray:
        """Return the offsets of the bytes of each element, (elements of all matrices, bytes of one)."""
        within = self.offsets(slot.layout, slot.rows, slot.columns, slot.component.bytes).reshape(-1)
        first = np.arange(slot.count)[:, None] * self.pitch(slot) + within
        places: np.ndarray = first.reshape(-1, 1) + np.arange(slot.component.bytes)
        return places


PLAIN_LAYOUTS = MatrixLayouts(0)


def _tile(layout: VectorMatrixLayout, element: int) -> tuple[int, int]:
    rows, row_bytes = _TILES[layout]
    return rows, row_bytes // element


@lru_cache(maxsize=256)
def _offsets(seed: int, layout: VectorMatrixLayout, rows: int, columns: int, element: int) -> np.ndarray:
    tile_rows, tile_columns = _tile(layout, element)
    down, across = -(-rows // tile_rows), -(-columns // tile_columns)
    row, column = np.arange(rows)[:, None], np.arange(columns)[None, :]
    tile = (column // tile_columns) * down + row // tile_rows
    inside_row, inside_column = row % tile_rows, column % tile_columns
    if layout is VectorMatrixLayout.INFERENCING_OPTIMAL:
        inside = inside_column * tile_rows + (inside_row ^ (inside_column % tile_rows))
    else:
        inside = inside_row * tile_columns + (inside_column + 3 * inside_row) % tile_columns
    count, capacity = down * across, tile_rows * tile_columns
    inside = _permuted(inside, capacity, seed >> 8)
    result: np.ndarray = (_permuted(tile, count, seed) * capacity + inside) * element
    return result


def _permuted(number: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Return numbers below ``count`` in another order."""
    step = seed % count | 1
    while math.gcd(step, count) > 1:
        step += 2
    result: np.ndarray = (number * step + seed) % count
    return result
