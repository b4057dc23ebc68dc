"""Loads and stores: of each lane through descriptors, by addresses and in the local data share, and scalar loads.

A load reads when it is executed, and its registers change when the wave waits for it. A store is in the cache of the wave's compute unit at
once, and in memory when the wave waits for it; in the local data share it is at once. So a shader that does not wait reads old values, as
it may on hardware. A load whose scope is more than one compute unit goes past the cache. The scope of a store says nothing: LLVM's memory
model for RDNA4, too, only waits for stores, since they are complete no earlier than in the cache of the whole device.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType

import numpy as np

from cts.devices.executed.arrays import Array
from cts.devices.executed.caches import Uncached
from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.instructions.meaning import Meaning, Step
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

SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        **{f"b{32 * count}": Shape(4, count) for count in (1, 2, 3, 4, 8, 16)},
        **{f"{letter}{8 * size}": Shape(size, signed=letter == "i") for letter in "uib" for size in (1, 2)},
        **{
            name: Shape(size, signed=letter == "i", half=half)
            for letter in "uib"
            for size in (1, 2)
            for half, place in enumerate(("d16", "d16_hi"))
            for name in (f"{place}_{letter}{8 * size}", f"{letter}{8 * size}_{place}")
        },
    }
)
"""Shape by the end of a mnemonic."""

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


@dataclass(frozen=True)
class Transfer:
    """A load or store of each lane."""

    generation: str

    def __call__(self, instruction: Instruction) -> Step:
        segment, verb, name = instruction.mnemonic.split("_", 2)
        offsets: tuple[int, ...] = (0,)
        registers = [instruction.fields.get("vdata", instruction.fields.get("data", 0))]
        if segment == "ds":
            offsets, name = _offsets(instruction, name)
            registers = [instruction["data0"], instruction["data1"]][: len(offsets)]
        find, shape = PLACES[segment](instruction, self.generation), SHAPES[name]
        counter = Counter.SHARE if segment == "ds" else Counter.LOAD if verb == "load" else Counter.STORE
        beyond = beyond_unit(instruction, self.generation == "gfx12")
        if verb == "load":
            return _load(find, shape, instruction["vdata" if segment == "buffer" else "vdst"], offsets, counter, beyond)
        return _store(find, shape, registers, offsets, counter)


def _offsets(instruction: Instruction, name: str) -> tuple[tuple[int, ...], str]:
    """Return the offsets of an instruction of the local data share, and the end of its mnemonic without the number of addresses."""
    first, second = instruction["offset0"], instruction["offset1"]
    if not name.startswith("2addr_"):
        return (first | second << 8,), name
    end = name.rpartition("_")[2]
    unit = 4 * SHAPES[end].count * (64 if "stride64" in name else 1)
    return (unit * first, unit * second), end


def _load(find: Find, shape: Shape, register: int, offsets: tuple[int, ...], counter: Counter, past: bool) -> Step:
    places = [offset + 4 * number for offset in offsets for number in range(shape.count)]

    def step(wave: Wave) -> None:
        access, cache = find(wave), _DATA_SHARE if counter is Counter.SHARE else wave.cache
        words = [loaded(wave, access(place, shape.size), shape.size, cache, past) for place in places]
        wave.later(counter, partial(deliver, wave, register, shape, words, wave.active))

    return step


def _store(find: Find, shape: Shape, registers: list[int], offsets: tuple[int, ...], counter: Counter) -> Step:
    places = [
        (register + number, offset + 4 * number)
        for register, offset in zip(registers, offsets, strict=True)
        for number in range(shape.count)
    ]

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


@dataclass(frozen=True)
class ScalarLoad:
    """A load to scalar registers, from an address or through a descriptor."""

    generation: str

    def __call__(self, instruction: Instruction) -> Step:
        through, rdna4 = instruction.mnemonic.startswith("s_buffer_"), self.generation == "gfx12"
        shape = SHAPES[instruction.mnemonic.rpartition("_")[2]]
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


@dataclass(frozen=True)
class TransposedLoad:
    """global_load_tr: lanes load rows, and the tile that they make is transposed.

    Only the first 32 lanes give addresses. With 64 lanes, the others get the second half of what each of the first 32 would get.

    Attributes:
        size: bytes of an element: 2 for b128, 1 for b64.
    """

    size: int

    def __call__(self, instruction: Instruction) -> Step:
        find, register, size = in_memory(instruction, "gfx12", 32), instruction["vdst"], self.size
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


_COUNTS = ("b32", "b64", "b96", "b128")
_SMALL = ("u8", "i8", "u16", "i16")
_ALIKE = (*(f"load_{shape}" for shape in (*_SMALL, *_COUNTS)), *(f"store_{shape}" for shape in ("b8", "b16", *_COUNTS)))
_OF_VECTORS = (
    *(f"load_{half}_{shape}" for half in ("d16", "d16_hi") for shape in ("u8", "i8", "b16")),
    *("store_d16_hi_b8", "store_d16_hi_b16"),
)
_OF_SHARE = (
    *(f"load_{shape}_{half}" for half in ("d16", "d16_hi") for shape in ("u8", "i8", "u16")),
    *("store_b8_d16_hi", "store_b16_d16_hi"),
    *(f"{verb}_2addr{stride}_{size}" for verb in ("load", "store") for stride in ("", "_stride64") for size in ("b32", "b64")),
)


@cache
def transfers(generation: str) -> Mapping[str, Meaning]:
    """Return the loads and stores of a generation by mnemonic."""
    transfer, scalar_load = Transfer(generation), ScalarLoad(generation)
    found: dict[str, Meaning] = {f"{segment}_{name}": transfer for segment in ("buffer", "global") for name in (*_ALIKE, *_OF_VECTORS)}
    found |= {f"ds_{name}": transfer for name in (*_ALIKE, *_OF_SHARE)}
    found |= {f"s_{through}load_{shape}": scalar_load for through in ("", "buffer_") for shape in (*_COUNTS, "b256", "b512", *_SMALL)}
    if generation == "gfx12":
        found |= {"global_load_tr_b128": TransposedLoad(2), "global_load_tr_b64": TransposedLoad(1)}
    return MappingProxyType(found)
