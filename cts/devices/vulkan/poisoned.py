"""Keeps poison in memory around the buffers of cases, and far before and after them, and finds writes to it.

This module is independent of Vulkan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

MARGIN = 1 << 20
"""Bytes of poison before the buffers of all dispatches, and the minimum after them."""

TILE = 1 << 17
"""Period of the poison in bytes. It stays in a cache while memory is compared with it."""


@cache
def tile() -> np.ndarray:
    """Return poison that no kernel writes by chance: bytes without a pattern, none of them 0x00 or 0xFF."""
    bytes_ = np.random.default_rng(0x6775617264).integers(1, 255, TILE, np.uint8)
    bytes_.setflags(write=False)
    return bytes_


@cache
def _clean() -> bytearray:
    # A bytearray compares itself with other memory by memcmp, which stores no result for each byte.
    return bytearray(tile())


def poison(count: int) -> np.ndarray:
    """Return ``count`` bytes of poison."""
    return np.resize(tile(), count)


@dataclass(frozen=True)
class Spoiled:
    """Bytes of poison that were overwritten.

    Attributes:
        first: offset of the first one in the memory.
        count: number of bytes.
    """

    first: int
    count: int


@dataclass(frozen=True)
class Around:
    """The writes before the first dispatch's range and after the last one's, if any."""

    before: Spoiled | None = None
    after: Spoiled | None = None


class PoisonedMemory:
    """Memory with poison around the ranges of the dispatches.

    If the next dispatches need less room, the rest of the old ranges becomes poison again.

    Args:
        memory: uint8, a multiple of TILE bytes; used in place.
    """

    def __init__(self, memory: np.ndarray) -> None:
        self._memory = memory
        self._end = MARGIN
        self._kept: bytearray | None = None
        self._refill(0, memory.size)

    def place(self, image: np.ndarray) -> np.ndarray:
        """Write the ranges of some dispatches at MARGIN. Return their memory in the image's shape."""
        end = MARGIN + image.size
        assert end + MARGIN <= self._memory.size, "reserve comes first"
        ranges = self._memory[MARGIN:end].reshape(image.shape)
        ranges[:] = image
        self._kept = None
        self._refill(end, self._end)
        self._end = end
        return ranges

    def keep(self) -> np.ndarray:
        """Return a copy of the ranges, flat: the results of the dispatches. Later writes are late."""
        self._kept = bytearray(self._memory[MARGIN : self._end].data)
        return np.frombuffer(self._kept, np.uint8)

    def late(self) -> int:
        """Return how many bytes of the ranges were written since ``keep``; 0 if nothing was kept."""
        if self._kept is None:
            return 0
        found = _difference(MARGIN, self._memory[MARGIN : self._end], self._kept)
        return 0 if found is None else found.count

    def is_left_alone(self) -> bool:
        """Tell whether neither the ranges nor the poison around them were written since ``keep`` and ``around``."""
        return self._kept is None or (self.late() == 0 and self.around() == Around())

    def around(self) -> Around:
        """Return the writes around the ranges, and restore the poison."""
        found = Around(self._spoiled(0, MARGIN), self._spoiled(self._end, self._memory.size))
        if found.before is not None:
            self._refill(0, MARGIN)
        if found.after is not None:
            self._refill(self._end, self._memory.size)
        return found

    def _pieces(self, start: int, end: int) -> Iterator[tuple[int, np.ndarray, bytearray]]:
        """Split a range at tiles. Yield (offset, memory, poison) of each piece."""
        while start < end:
            inside = start % TILE
            count = min(end - start, TILE - inside)
            yield start, self._memory[start : start + count], _clean() if count == TILE else _clean()[inside : inside + count]
            start += count

    def _refill(self, start: int, end: int) -> None:
        for _, piece, clean in self._pieces(start, end):
            piece[:] = np.frombuffer(clean, np.uint8)

    def _spoiled(self, start: int, end: int) -> Spoiled | None:
        found = [one for begin, piece, clean in self._pieces(start, end) if (one := _difference(begin, piece, clean))]
        return Spoiled(found[0].first, sum(one.count for one in found)) if found else None


def _difference(begin: int, piece: np.ndarray, clean: bytearray) -> Spoiled | None:
    if clean == piece.data:
        return None
    positions = np.flatnonzero(piece != np.frombuffer(clean, np.uint8))
    return Spoiled(begin + int(positions[0]), int(positions.size)) if positions.size else None
