"""Where the lanes of an instruction access memory: through descriptors, by addresses, or in the local data share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from cts.devices.executed.arrays import Array
from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.errors import NotModelled
from cts.devices.executed.memory import ADDRESSES
from cts.devices.executed.operands import scalar
from cts.devices.executed.wave import NULL, Wave

ALL = (1 << 32) - 1
_FIRST_OF_RDNA4 = "gfx12"


@dataclass(frozen=True)
class Part:
    """A part of the lanes that access memory: all in one buffer.

    Attributes:
        data: the buffer's bytes.
        places: the first byte of each of these lanes.
        lanes: which lanes they are.
    """

    data: Array
    places: Array
    lanes: Array

    def gather(self, size: int) -> Array:
        """Return the elements of ``size`` bytes as unsigned 32-bit numbers."""
        if size == 4 and not np.bitwise_or.reduce(self.places) & 3:
            aligned: Array = self.data[: len(self.data) & ~3].view(np.uint32)[self.places >> 2]
            return aligned
        found = self.data[self.places[:, np.newaxis] + np.arange(size)]
        return found.view(f"<u{size}")[:, 0].astype(np.uint32)

    def scatter(self, values: Array, size: int) -> None:
        """Write the lowest bytes of 32-bit numbers, one of each of these lanes."""
        if size == 4 and not np.bitwise_or.reduce(self.places) & 3:
            self.data[: len(self.data) & ~3].view(np.uint32)[self.places >> 2] = values
        else:
            self.data[self.places[:, np.newaxis] + np.arange(size)] = values.view(np.uint8).reshape(-1, 4)[:, :size]


Access = Callable[[int, int], Iterable[Part]]
"""Takes an offset in bytes and the size of an element, and returns where the lanes access memory. The others access none."""

Find = Callable[[Wave], Access]


def signed(value: int, bits: int) -> int:
    """Return the lowest bits of a number as one with a sign."""
    return (value & (1 << bits) - 1 ^ 1 << bits - 1) - (1 << bits - 1)


def _at(wave: Wave, addresses: Array, lanes: Array, size: int) -> Iterator[Part]:
    """Yield where these lanes access memory."""
    addresses = addresses & ADDRESSES
    left = lanes
    while (chosen := addresses[left]).size:
        buffer = wave.group.memory.at(int(chosen.min()), size)
        if int(chosen.max()) + size <= buffer.end:
            yield Part(buffer.data, chosen - buffer.first, left)
            return
        inside = left & (addresses + size <= buffer.end)
        yield Part(buffer.data, addresses[inside] - buffer.first, inside)
        left = left & ~inside


def descriptor(wave: Wave, register: int) -> tuple[int, int]:
    """Return base address and size in bytes of the buffer that four scalar registers describe.

    Raises:
        NotModelled: it has a stride.
    """
    low, high, records = wave.scalars[register : register + 3]
    if high >> 16 & 0x3FFF:
        raise NotModelled("a buffer with a stride", f"({high >> 16 & 0x3FFF} bytes)")
    return low | (high & 0xFFFF) << 32, records


def in_buffer(instruction: Instruction, generation: str) -> Find:
    """Return how a buffer instruction finds memory: by a descriptor in four scalar registers, with bounds.

    Raises:
        NotModelled: an index is used.
    """
    if instruction["idxen"] or instruction["tfe"]:
        raise NotModelled(instruction.mnemonic, "with idxen or tfe")
    rdna4 = generation == _FIRST_OF_RDNA4
    resource = instruction["rsrc"] if rdna4 else 4 * instruction["rsrc"]
    soffset = scalar(instruction["soffset"], 32)
    offset = signed(instruction["offset"], 24) if rdna4 else instruction["offset"]
    register = instruction["vaddr"] if instruction["offen"] else None

    def find(wave: Wave) -> Access:
        base, records = descriptor(wave, resource)
        start, active = soffset(wave), wave.active
        of_lanes = offset + (np.zeros(wave.lanes, np.int64) if register is None else wave.u32[register].astype(np.int64))

        def access(further: int, size: int) -> Iterable[Part]:
            # Offsets wrap at 32 bits before they are checked.
            places = (of_lanes + further & ALL) + start
            return _at(wave, base + places, active & (places + size <= records), size)

        return access

    return find


def in_memory(instruction: Instruction, generation: str, count: int = 64) -> Find:
    """Return how a global instruction finds memory: by an address in each lane, or a scalar address and an offset in each lane.

    Args:
        count: how many lanes access memory, the first ones.
    """
    offset = signed(instruction["offset"], 24 if generation == _FIRST_OF_RDNA4 else 13)
    register, base = instruction["vaddr"], instruction["saddr"]

    def find(wave: Wave) -> Access:
        low = wave.u32[register].astype(np.int64)
        addresses = low | wave.u32[register + 1].astype(np.int64) << 32 if base == NULL else low + (wave.pair(base) & ADDRESSES)
        lanes = wave.active & (np.arange(wave.lanes) < count)
        return lambda further, size: _at(wave, addresses + offset + further, lanes, size)

    return find


def in_data_share(instruction: Instruction, _: str) -> Find:
    """Return how an instruction of the local data share finds it; two offsets, which count elements, come from the caller."""
    register = instruction["addr"]
    offset = 0 if "2addr" in instruction.mnemonic else instruction["offset0"] | instruction["offset1"] << 8

    def find(wave: Wave) -> Access:
        data, active = wave.group.lds, wave.active
        base = wave.u32[register].astype(np.int64)

        def access(further: int, size: int) -> Iterable[Part]:
            # Addresses wrap at 32 bits.
            places = base + offset + further & ALL
            lanes = active & (places + size <= len(data))
            return (Part(data, places[lanes], lanes),)

        return access

    return find
