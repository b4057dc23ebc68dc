"""Loads and stores: of each lane through descriptors, by addresses and in the local data share, and scalar loads.

A load reads when it is executed, and its registers change when the wave waits for it. A store is in the cache of the wave's compute unit at
once, and in memory when the wave waits for it; in the local data share it is at once. So a shader that does not wait reads old values, as
it may on hardware. A load whose scope is more than one compute unit goes past the cache. The scope of a store says nothing: LLVM's memory
model for RDNA4, too, only waits for stores, since they are complete no earlier than in the cache of the whole device.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType

import numpy as np

from cts.devices.executed.arrays import Array
from cts.devices.executed.caches import Uncached
from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.instructions.meaning import Step
from cts.devices.executed.instructions.places import ALL, Find, Part, descriptor, in_buffer, in_data_share, in_memory, signed
from cts.devices.executed.memory import ADDRESSES
from cts.devices.executed.operands import scalar
from cts.devices.executed.wave import NULL, POISON, Counter, Wave


@dataclass(frozen=True)
class Shape:
    """What a load or store moves for each lane.

    Attributes:
        size: bytes of one element: 1, 2 or 4.
        count: how many elements; of 4 bytes if there are several.
        signed: whether a loaded element has a sign.
        half: whether it is in a half of the register: 0 the lower, 1 the upper, None the whole.
    """

    size: int
    count: int = 1
    signed: bool = False
    half: int | None = None


WORD = Shape(4)


@cache
def shape_of(mnemonic: str) -> Shape:
    """Return the shape that a mnemonic names."""
    ((letter, bits),) = re.findall(r"_([uib])([0-9]+)", mnemonic)
    half = int("d16_hi" in mnemonic) if "d16" in mnemonic else None
    return Shape(min(int(bits) // 8, 4), max(int(bits) // 32, 1), letter == "i", half)


PLACES = MappingProxyType({"buffer": in_buffer, "global": in_memory, "ds": in_data_share})
"""How to find memory, by the beginning of a mnemonic."""

_DATA_SHARE = Uncached()


def loaded(wave: Wave, parts: Iterable[Part], size: int, cache: Uncached, past: bool) -> Array:
    """Return an element for each lane, 0 for lanes that access no memory; through a cache, or from memory ``past`` its lines."""
    whole = np.zeros(wave.lanes, np.uint32)
    for part in parts:
        whole[part.lanes] = Part(cache.read(part.data, part.places, size, past), part.places, part.lanes).gather(size)
    return whole


def beyond_unit(instruction: Instruction, rdna4: bool) -> bool:
    """Return whether the scope of a load is more than one compute unit."""
    return bool(instruction.fields.get("scope" if rdna4 else "glc", 0))


def deliver(wave: Wave, register: int, shape: Shape, words: Iterable[Array], active: Array) -> None:
    """Write loaded elements to some lanes of registers."""
    sign = np.uint32(1 << 8 * shape.size - 1)
    for number, word in enumerate(words):
        whole = (word ^ sign) - sign if shape.signed else word
        target = wave.u32[register + number] if shape.half is None else wave.u16[register, :, shape.half]
        np.copyto(target, whole.astype(target.dtype), where=active)


def registers_of(instruction: Instruction) -> tuple[int, list[int]]:
    """Return the first vector register of the result, and of each operand with data."""
    fields = instruction.fields
    data = [fields[name] for name in ("vdata", "data", "data0", "data1") if name in fields]
    return fields.get("vdst", data[0]), data


def transfer(generation: str, instruction: Instruction) -> Step:
    """Prepare a load or store of each lane."""
    mnemonic = instruction.mnemonic
    segment, verb, _ = mnemonic.split("_", 2)
    find, shape, (result, data) = PLACES[segment](instruction, generation), shape_of(mnemonic), registers_of(instruction)
    # With two addresses, the offsets of the local data share count elements.
    unit = 4 * shape.count * (64 if "stride64" in mnemonic else 1)
    offsets = [unit * instruction[name] for name in ("offset0", "offset1")] if "2addr" in mnemonic else [0]
    counter = Counter.SHARE if segment == "ds" else Counter.LOAD if verb == "load" else Counter.STORE
    if verb == "load":
        return _load(find, shape, result, offsets, counter, beyond_unit(instruction, generation == "gfx12"))
    return _store(find, shape, data, offsets, counter)


def _load(find: Find, shape: Shape, register: int, offsets: list[int], counter: Counter, past: bool) -> Step:
    places = [offset + 4 * number for offset in offsets for number in range(shape.count)]

    def step(wave: Wave) -> None:
        access, cache = find(wave), _DATA_SHARE if counter is Counter.SHARE else wave.cache
        words = [loaded(wave, access(place, shape.size), shape.size, cache, past) for place in places]
        wave.later(counter, partial(deliver, wave, register, shape, words, wave.active))

    return step


def _store(find: Find, shape: Shape, registers: list[int], offsets: list[int], counter: Counter) -> Step:
    both = zip(registers, offsets, strict=False)
    places = [(register + number, offset + 4 * number) for register, offset in both for number in range(shape.count)]

    def step(wave: Wave) -> None:
        access, cache = find(wave), _DATA_SHARE if counter is Counter.SHARE else wave.cache
        written = []
        for register, place in places:
            values = wave.u32[register] >> 16 if shape.half else wave.u32[register]
            for part in access(place, shape.size):
                seen = cache.write(part.data, part.places, shape.size)
                Part(seen, part.places, part.lanes).scatter(values[part.lanes], shape.size)
                written.append(part)

        def publish() -> None:
            for part in written:
                cache.publish(part.data, part.places, shape.size)

        if cache.early():
            publish()
        wave.later(counter, cache.write_back if cache.shared else publish)

    return step


def scalar_load(generation: str, instruction: Instruction) -> Step:
    """Prepare a load to scalar registers, from an address or through a descriptor."""
    through, rdna4 = instruction.mnemonic.startswith("s_buffer_"), generation == "gfx12"
    shape = shape_of(instruction.mnemonic)
    counter = Counter.SCALAR if rdna4 else Counter.SHARE
    base, first = 2 * instruction["sbase"], instruction["sdata"]
    offset, soffset = signed(instruction["offset"], 24 if rdna4 else 21), scalar(instruction["soffset"], 32)

    def step(wave: Wave) -> None:
        # Loads of words ignore the two lowest bits.
        place = offset + soffset(wave) & (-4 if shape.size == 4 else -1)
        address, records = descriptor(wave, base) if through else (wave.pair(base), place + 64)
        inside = [0 <= place + 4 * number <= records - shape.size or not through for number in range(shape.count)]
        values = [_scalar_at(wave, address + place + 4 * number, shape) if there else 0 for number, there in enumerate(inside)]
        if first != NULL:
            wave.later(counter, partial(_deliver_scalars, wave, first, values), scalar=True)

    return step


def _deliver_scalars(wave: Wave, first: int, values: list[int]) -> None:
    wave.scalars[first : first + len(values)] = values


def _scalar_at(wave: Wave, address: int, shape: Shape) -> int:
    address &= ADDRESSES & (-4 if shape.size == 4 else -1)
    buffer = wave.group.memory.at(address, shape.size)
    start = address - buffer.first
    return int.from_bytes(buffer.data[start : start + shape.size].tobytes(), "little", signed=shape.signed) & ALL


def transposed_load(generation: str, instruction: Instruction) -> Step:
    """Prepare global_load_tr: lanes load rows, and the tile that they make is transposed.

    Only the first 32 lanes give addresses. With 64 lanes, the others get the second half of what each of the first 32 would get.
    """
    # Elements have 2 bytes for b128, 1 for b64.
    size = shape_of(instruction.mnemonic).count // 2
    find, register = in_memory(instruction, generation, 32), instruction["vdst"]
    past = beyond_unit(instruction, rdna4=True)

    def step(wave: Wave) -> None:
        access = find(wave)
        rows = np.stack([loaded(wave, access(4 * number, 4), 4, wave.cache, past)[:32] for number in range(size * 2)], axis=1)
        tiles: Array
        if size == 2:
            tiles = rows.view(np.uint16).reshape(4, 8, 8).transpose(0, 2, 1)
        else:
            # Two tiles of 16 lanes: the upper part of the row, which half of the row, the lower part of the row; then the column.
            tiles = rows.view(np.uint8).reshape(2, 2, 2, 4, 8).transpose(0, 2, 4, 1, 3)
        words = np.ascontiguousarray(tiles).reshape(32, 8).view(np.uint32)
        if wave.lanes == 64:
            words = np.concatenate(np.split(words, 2, axis=1))
        if not wave.full:
            words = np.full_like(words, POISON)
        wave.later(Counter.LOAD, partial(deliver, wave, register, WORD, words.T, wave.active))

    return step
