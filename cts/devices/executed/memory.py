"""The GPU's memory: buffers of this process at addresses of the GPU."""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from cts.devices.device import DeviceLost
from cts.devices.executed.arrays import Array

ADDRESSES = (1 << 48) - 1
"""The bits of an address that count: the others repeat bit 47, or are left out."""


class BadAddress(DeviceLost):
    """An access to an address at which no buffer is. On hardware it is a page fault, and the device is lost."""


@dataclass(frozen=True)
class Mapped:
    """A buffer at ``first``, up to before ``end``; ``data`` has its bytes."""

    first: int
    end: int
    data: Array


class Memory:
    """Maps GPU addresses to arrays of bytes.

    Attributes:
        scratch: see cts.devices.executed.caches.Scratch.
    """

    def __init__(self) -> None:
        self.scratch: dict[int, list[tuple[Array, Array]]] = {}
        self._starts: list[int] = []
        self._buffers: list[Mapped] = []

    def map(self, address: int, size: int, host: int) -> None:
        """Show ``size`` bytes of this process at a GPU address, in place of what was there."""
        address &= ADDRESSES
        self.unmap(address)
        data = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(host))
        place = bisect_right(self._starts, address)
        self._starts.insert(place, address)
        self._buffers.insert(place, Mapped(address, address + size, data))

    def unmap(self, address: int) -> None:
        """Forget the buffer that begins at the address, if there is one."""
        address &= ADDRESSES
        place = bisect_right(self._starts, address) - 1
        if place >= 0 and self._starts[place] == address:
            del self._starts[place], self._buffers[place]

    def at(self, address: int, size: int = 1) -> Mapped:
        """Return the buffer with these bytes; ``first`` and ``end`` are addresses of 48 bits.

        Raises:
            BadAddress: no buffer has all of them.
        """
        address &= ADDRESSES
        place = bisect_right(self._starts, address) - 1
        if place < 0 or address + size > self._buffers[place].end:
            raise BadAddress(f"page fault: {size} bytes at GPU address {address:#x}, where no buffer is")
        return self._buffers[place]

    def words(self, address: int, count: int) -> Array:
        """Return ``count`` 32-bit words at an aligned address, as a view.

        Raises:
            BadAddress: no buffer has all of them.
        """
        address &= ADDRESSES
        buffer = self.at(address, 4 * count)
        return buffer.data[address - buffer.first :][: 4 * count].view(np.uint32)
