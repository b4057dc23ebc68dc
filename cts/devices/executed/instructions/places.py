"""Where the lanes of an instruction access memory: through descriptors, by addresses, or in the local data share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from cts.devices.executed.arrays import Array
from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.errors import NotModelled
from cts.devices.executed.memory import ADDRESSES
from cts.devices.executed.operands import scalar
from cts.devices.executed.wave import NULL, Wave

ALL = (1 << 32) - 1
_FIRST_OF_RDNA4 = "gfx12"


class Part(NamedTuple):
    """A part of the lanes that access memory: all in one buffer.

    Attributes:
        data: the buffer's bytes.
        places: the first byte of each element; of several words, first those of the first word.
        lanes: which lanes they are; of several words, a row for each word, unless it is all lanes.
    """

    data: Array
    places: Array
    lanes: Array

    def gather(self, data: Array, size: int) -> Array:
        """Return the elements of ``size`` bytes in the buffer, or in a copy, as unsigned 32-bit numbers."""
        if not np.bitwise_or.reduce(self.places) & size - 1:
            found: Array = data[: len(data) & -size].view(f"<u{size}")[self.places >> (size >> 1)]
        else:
            found = data[self.places[:, np.newaxis] + np.arange(size)].view(f"<u{size}")[:, 0]
        return found.astype(np.uint32, copy=False)

    def scatter(self, data: Array, values: Array, size: int) -> None:
        """Write the lowest bytes of 32-bit numbers, an element each, to the buffer or a copy."""
        chosen = values.reshape(-1) if values.size == self.places.size else values[self.lanes]
        if size == 4 and not np.bitwise_or.reduce(self.places) & 3:
            data[: len(data) & ~3].view(np.uint32)[self.places >> 2] = chosen
        else:
            data[self.places[:, np.newaxis] + np.arange(size)] = chosen.view(np.uint8).reshape(-1, 4)[:, :size]


Find = Callable[[Wave, int | Array, int], Iterable[Part]]
"""Takes a wave, an offset in bytes, or a column with the offset of each word, and the size of an element. Returns where the active lanes
access memory; those that are not in it access none."""


def signed(value: int, bits: int) -> int:
    """Return the lowest bits of a number as one with a sign."""
    return (value & (1 << bits) - 1 ^ 1 << bits - 1) - (1 << bits - 1)


def _at(wave: Wave, addresses: Array, lanes: Array, size: int) -> Iterator[Part]:
    """Yield where these lanes access memory."""
    addresses = addresses & ADDRESSES
    left = lanes if lanes.shape == addresses.shape else np.broadcast_to(lanes, addresses.shape)
    while (chosen := addresses[left]).size:
        buffer = wave.group.memory.at(int(np.minimum.reduce(chosen)), size)
        inside = left & (addresses + size <= buffer.end)
        yield Part(buffer.data, addresses[inside] - buffer.first, inside)
        left = left & ~inside


def _all_at(wave: Wave, base: int, places: Array, size: int, last: int) -> tuple[Part, ...]:
    """Return where all lanes access memory, as ``_at`` does in more steps; nothing if some do not, or not in one buffer.

    Args:
        places: of each element, from the base.
        last: the last permitted one.
    """
    low, high = int(np.minimum.reduce(places, axis=None)), int(np.maximum.reduce(places, axis=None))
    if not wave.full or low < 0 or high > last:
        return ()
    first = base + low & ADDRESSES
    buffer = wave.group.memory.at(first, size)
    if first + high - low + size > buffer.end:
        return ()
    return (Part(buffer.data, places.ravel() + (first - low - buffer.first), wave.active),)


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

    def find(wave: Wave, further: int | Array, size: int) -> Iterable[Part]:
        (base, records), start = descriptor(wave, resource), soffset(wave)
        of_lanes = np.zeros(wave.lanes, np.int64) if register is None else wave.u32[register]
        places, last = np.add(of_lanes, further + offset, dtype=np.int64), records - start - size
        if found := _all_at(wave, base + start, places, size, min(last, ALL)):
            return found
        # Offsets wrap at 32 bits before they are checked.
        places &= ALL
        return _at(wave, base + start + places, wave.active & (places <= last), size)

    return find


def in_memory(instruction: Instruction, generation: str, count: int = 64) -> Find:
    """Return how a global instruction finds memory: by an address in each lane, or a scalar address and an offset in each lane.

    Args:
        count: how many lanes access memory, the first ones.
    """
    offset = signed(instruction["offset"], 24 if generation == _FIRST_OF_RDNA4 else 13)
    register, base = instruction["vaddr"], instruction["saddr"]

    def find(wave: Wave, further: int | Array, size: int) -> Iterable[Part]:
        low = wave.u32[register].astype(np.int64)
        addresses = low | wave.u32[register + 1].astype(np.int64) << 32 if base == NULL else low + (wave.pair(base) & ADDRESSES)
        places, few = addresses + further, count < wave.lanes
        lanes = wave.active & (np.arange(wave.lanes) < count) if few else wave.active
        return _all_at(wave, offset, places, size, -1 if few else ADDRESSES) or _at(wave, offset + places, lanes, size)

    return find


def in_data_share(instruction: Instruction, _: str) -> Find:
    """Return how an instruction of the local data share finds it; two offsets, which count elements, come from the caller."""
    register = instruction["addr"]
    offset = 0 if "2addr" in instruction.mnemonic else instruction["offset0"] | instruction["offset1"] << 8

    def find(wave: Wave, further: int | Array, size: int) -> Iterable[Part]:
        # Addresses wrap at 32 bits.
        places = np.add(wave.u32[register], further + offset, dtype=np.int64) & ALL
        lanes = wave.active & (places + size <= len(wave.group.lds))
        return (Part(wave.group.lds, places[lanes], lanes),)

    return find
