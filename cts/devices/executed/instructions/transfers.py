"""Loads, stores and atomics: buffers with descriptors, global memory, the local data share, and scalar loads."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import numpy as np

from cts.devices.executed.arrays import Array
from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.errors import NotModelled
from cts.devices.executed.instructions.meaning import Step
from cts.devices.executed.memory import ADDRESSES
from cts.devices.executed.operands import scalar
from cts.devices.executed.wave import NULL, Wave

_ALL = (1 << 32) - 1


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


_SHAPES: Mapping[str, Shape] = MappingProxyType(
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


def gather(data: Array, places: Array, size: int) -> Array:
    """Return the elements at some bytes as unsigned 32-bit numbers."""
    if size == 4 and not (places & 3).any():
        aligned: Array = data[: len(data) & ~3].view(np.uint32)[places >> 2]
        return aligned
    found = data[places[..., np.newaxis] + np.arange(size)]
    return found.view({1: np.uint8, 2: np.uint16, 4: np.uint32}[size])[..., 0].astype(np.uint32)


def scatter(data: Array, places: Array, values: Array, size: int) -> None:
    """Write the lowest bytes of 32-bit numbers."""
    if size == 4 and not (places & 3).any():
        data[: len(data) & ~3].view(np.uint32)[places >> 2] = values
        return
    parts = np.ascontiguousarray(values).view(np.uint8).reshape(-1, 4)[:, :size]
    data[places[:, np.newaxis] + np.arange(size)] = parts


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


Access = Callable[[int, int], Iterable[Part]]
"""Takes an offset in bytes and the size of an element, and returns where the lanes access memory. The others access none."""


def loaded(wave: Wave, parts: Iterable[Part], size: int) -> Array:
    """Return an element for each lane, 0 for lanes that access no memory."""
    whole = np.zeros(wave.lanes, np.uint32)
    for part in parts:
        whole[part.lanes] = gather(part.data, part.places, size)
    return whole


def load(wave: Wave, register: int, shape: Shape, whole: Array) -> None:
    """Write loaded elements to the active lanes of a register."""
    if shape.signed:
        sign = np.uint32(1 << 8 * shape.size - 1)
        whole = (whole ^ sign) - sign
    target = wave.u32[register] if shape.half is None else wave.u16[register, :, shape.half]
    np.copyto(target, whole.astype(target.dtype), where=wave.active)


@dataclass(frozen=True)
class Load:
    """A load of each lane."""

    shape: Shape

    def step(self, register: int, place: Callable[[Wave], Access], offsets: tuple[int, ...] = (0,)) -> Step:
        """Return the load to registers from one or, with ``offsets``, several places."""
        shape = self.shape

        def step(wave: Wave) -> None:
            access = place(wave)
            found = []
            for offset in offsets:
                for number in range(shape.count):
                    found.append(loaded(wave, access(offset + 4 * number, shape.size), shape.size))
            # The address may be in a register that the load writes.
            for number, whole in enumerate(found):
                load(wave, register + number, shape, whole)

        return step


@dataclass(frozen=True)
class Store:
    """A store of each lane."""

    shape: Shape

    def step(self, registers: tuple[int, ...], place: Callable[[Wave], Access], offsets: tuple[int, ...] = (0,)) -> Step:
        """Return the store of registers to as many places."""
        shape = self.shape

        def step(wave: Wave) -> None:
            access = place(wave)
            for register, offset in zip(registers, offsets, strict=True):
                for number in range(shape.count):
                    values = wave.u32[register + number]
                    values = values >> 16 if shape.half else values
                    for part in access(offset + 4 * number, shape.size):
                        scatter(part.data, part.places, values[part.lanes], shape.size)

        return step


def _signed(value: int, bits: int) -> int:
    return (value ^ 1 << bits - 1) - (1 << bits - 1)


def _at(wave: Wave, addresses: Array, lanes: Array, size: int) -> Iterator[Part]:
    """Yield where these lanes access memory."""
    addresses = addresses & ADDRESSES
    left = lanes
    while left.any():
        buffer = wave.group.memory.at(int(addresses[left].min()), size)
        inside = left & (addresses + size <= buffer.end)
        yield Part(buffer.data, addresses[inside] - buffer.first, inside)
        left = left & ~inside


def buffer_place(instruction: Instruction, long_offset: bool) -> Callable[[Wave], Access]:
    """Return how a buffer instruction finds memory: by a descriptor in four scalar registers, with bounds.

    Raises:
        NotModelled: an index is used.
    """
    if instruction["idxen"] or instruction["tfe"]:
        raise NotModelled(f"{instruction.mnemonic} with idxen or tfe")
    resource = instruction["rsrc"] if long_offset else 4 * instruction["rsrc"]
    soffset, offset = scalar(instruction["soffset"], 32), instruction["offset"]
    if long_offset:
        offset = _signed(offset, 24)
    has_offset, register = instruction["offen"], instruction["vaddr"]

    def place(wave: Wave) -> Access:
        base, records = descriptor(wave, resource)
        start = soffset(wave)

        def access(further: int, size: int) -> Iterable[Part]:
            of_lanes = wave.u32[register].astype(np.int64) if has_offset else np.zeros(wave.lanes, np.int64)
            # Offsets wrap at 32 bits before they are checked.
            places = (of_lanes + offset + further & _ALL) + start
            return _at(wave, base + places, wave.active & (places + size <= records), size)

        return access

    return place


def descriptor(wave: Wave, register: int) -> tuple[int, int]:
    """Return base address and size in bytes of the buffer that four scalar registers describe.

    Raises:
        NotModelled: it has a stride.
    """
    low, high, records = wave.scalars[register : register + 3]
    if high >> 16 & 0x3FFF:
        raise NotModelled(f"a buffer with a stride of {high >> 16 & 0x3FFF} bytes")
    return low | (high & 0xFFFF) << 32, records


def global_place(instruction: Instruction, long_offset: bool, count: int = 64) -> Callable[[Wave], Access]:
    """Return how a global instruction finds memory: by an address in each lane, or a scalar address and an offset in each lane.

    Args:
        count: how many lanes access memory, the first ones.
    """
    offset = _signed(instruction["offset"], 24 if long_offset else 13)
    register, base = instruction["vaddr"], instruction["saddr"]

    def place(wave: Wave) -> Access:
        low = wave.u32[register].astype(np.int64)
        addresses = low | wave.u32[register + 1].astype(np.int64) << 32 if base == NULL else low + (wave.pair(base) & ADDRESSES)
        lanes = wave.active & (np.arange(wave.lanes) < count)
        return lambda further, size: _at(wave, addresses + offset + further, lanes, size)

    return place


def lds_place(instruction: Instruction) -> Callable[[Wave], Access]:
    """Return how an instruction of the local data share finds it; its offsets come from the caller."""
    register = instruction["addr"]

    def place(wave: Wave) -> Access:
        data = wave.group.lds
        base = wave.u32[register].astype(np.int64)

        def access(further: int, size: int) -> Iterable[Part]:
            # Addresses wrap at 32 bits.
            places = base + further & _ALL
            lanes = wave.active & (places + size <= len(data))
            return (Part(data, places[lanes], lanes),)

        return access

    return place


def _shape_of(mnemonic: str) -> tuple[str, str, Shape]:
    """Return the parts of a mnemonic: segment, what it does, and the shape."""
    segment, verb, rest = mnemonic.split("_", 2)
    return segment, verb, _SHAPES[rest]


@dataclass(frozen=True)
class Vectors:
    """A load or store of each lane through a descriptor or an address."""

    long_offset: bool

    def prepare(self, instruction: Instruction) -> Step:
        """Return a function that executes the instruction; see Meaning."""
        segment, verb, shape = _shape_of(instruction.mnemonic)
        buffer = segment == "buffer"
        place = (buffer_place if buffer else global_place)(instruction, self.long_offset)
        if verb == "load":
            return Load(shape).step(instruction["vdata" if buffer else "vdst"], place)
        return Store(shape).step((instruction["vdata" if buffer else "data"],), place)


@dataclass(frozen=True)
class Shared:
    """A load or store of each lane in the local data share."""

    def prepare(self, instruction: Instruction) -> Step:
        """Return a function that executes the instruction; see Meaning."""
        place = lds_place(instruction)
        name = instruction.mnemonic
        offsets: tuple[int, ...] = (instruction["offset0"] | instruction["offset1"] << 8,)
        if "_2addr" in name:
            size = int(name.rpartition("_b")[2]) // 8
            unit = size * (64 if "stride64" in name else 1)
            offsets = (unit * instruction["offset0"], unit * instruction["offset1"])
            name = name.replace("_2addr", "").replace("_stride64", "")
        _, verb, shape = _shape_of(name)
        if verb == "load":
            return Load(shape).step(instruction["vdst"], place, offsets)
        return Store(shape).step((instruction["data0"], instruction["data1"])[: len(offsets)], place, offsets)


@dataclass(frozen=True)
class ScalarLoad:
    """A load to scalar registers, from an address or through a descriptor."""

    offset_bits: int

    def prepare(self, instruction: Instruction) -> Step:
        """Return a function that executes the instruction; see Meaning."""
        name = instruction.mnemonic
        through = name.startswith("s_buffer_")
        shape = _SHAPES[name.rpartition("_")[2]]
        base, first, count = 2 * instruction["sbase"], instruction["sdata"], shape.count
        offset, soffset = _signed(instruction["offset"], self.offset_bits), scalar(instruction["soffset"], 32)

        def step(wave: Wave) -> None:
            # Loads of words ignore the two lowest bits.
            place = offset + soffset(wave) & (-4 if shape.size == 4 else -1)
            address, records = descriptor(wave, base) if through else (wave.pair(base), 0)
            for number in range(count):
                inside = not through or 0 <= place + 4 * number <= records - shape.size
                value = _scalar_at(wave, address + place + 4 * number, shape) if inside else 0
                if first < NULL:
                    wave.scalars[first + number] = value

        return step


def _scalar_at(wave: Wave, address: int, shape: Shape) -> int:
    address &= ADDRESSES & (-4 if shape.size == 4 else -1)
    buffer = wave.group.memory.at(address, shape.size)
    start = address - buffer.first
    return int.from_bytes(buffer.data[start : start + shape.size].tobytes(), "little", signed=shape.signed) & _ALL


_UPDATES: Mapping[str, Callable[[int, int], int]] = MappingProxyType(
    {
        "add": operator.add,
        "sub": operator.sub,
        "min": min,
        "max": max,
        "and": operator.and_,
        "or": operator.or_,
        "xor": operator.xor,
        "swap": lambda _, new: new,
        "storexchg": lambda _, new: new,
        "inc": lambda old, new: 0 if old >= new else old + 1,
        "dec": lambda old, new: new if old == 0 or old > new else old - 1,
    }
)


@dataclass(frozen=True)
class Atomic:
    """An atomic operation of each lane, in the order of lanes."""

    long_offset: bool

    def prepare(self, instruction: Instruction) -> Step:
        """Return a function that executes the instruction; see Meaning."""
        parts = instruction.mnemonic.replace("atomic_", "").split("_")
        segment, verb, kind = parts[0], parts[1], parts[-1]
        bits, signed = int(kind[1:]), kind[0] == "i"
        if kind[0] == "f":
            raise NotModelled(instruction.mnemonic)
        if segment == "ds":
            place, data, result = lds_place(instruction), instruction["data0"], instruction["vdst"]
            returns, offset = "rtn" in parts, instruction["offset0"] | instruction["offset1"] << 8
            compared, written = instruction["data0"], instruction["data1"]
        else:
            buffer = segment == "buffer"
            place, offset = (buffer_place if buffer else global_place)(instruction, self.long_offset), 0
            data = instruction["vdata" if buffer else "data"]
            result = data if buffer else instruction["vdst"]
            returns = bool(instruction["th"] & 1 if self.long_offset else instruction["glc"])
            compared, written = data + bits // 32, data
        compares = verb in ("cmpswap", "cmpstore")
        update = _UPDATES.get(verb)

        def step(wave: Wave) -> None:
            olds = np.zeros(wave.lanes, np.uint64)
            for memory, start, lane in _cells(place(wave)(offset, bits // 8)):
                cell = memory[start : start + bits // 8]
                old = int.from_bytes(cell.tobytes(), "little", signed=signed)
                if compares:
                    new = _lane(wave, written, lane, bits, signed) if old == _lane(wave, compared, lane, bits, signed) else old
                else:
                    assert update is not None
                    new = update(old, _lane(wave, data, lane, bits, signed))
                cell[:] = np.frombuffer((new & (1 << bits) - 1).to_bytes(bits // 8, "little"), np.uint8)
                olds[lane] = old & (1 << bits) - 1
            if returns:
                for number in range(bits // 32):
                    load(wave, result + number, Shape(4), (olds >> np.uint64(32 * number)).astype(np.uint32))

        return step


def _cells(parts: Iterable[Part]) -> Iterator[tuple[Array, int, int]]:
    """Yield bytes of memory, first byte and lane of each lane that accesses memory."""
    for part in parts:
        for start, lane in zip(part.places.tolist(), np.flatnonzero(part.lanes).tolist(), strict=True):
            yield part.data, start, lane


def _lane(wave: Wave, register: int, lane: int, bits: int, signed: bool) -> int:
    value = sum(int(wave.u32[register + number, lane]) << 32 * number for number in range(bits // 32))
    return _signed(value, bits) if signed else value


@dataclass(frozen=True)
class TransposedLoad:
    """global_load_tr: lanes load rows, and the tile that they make is transposed.

    Only the first 32 lanes give addresses. With 64 lanes, the others get the second half of what each of the first 32 would get.

    Attributes:
        size: bytes of an element: 2 for b128, 1 for b64.
    """

    size: int

    def prepare(self, instruction: Instruction) -> Step:
        """Return a function that executes the instruction; see Meaning."""
        place, register, size = global_place(instruction, True, 32), instruction["vdst"], self.size

        def step(wave: Wave) -> None:
            if not wave.full:
                raise NotModelled(f"{instruction.mnemonic} with inactive lanes")
            access = place(wave)
            rows = np.stack([loaded(wave, access(4 * number, 4), 4)[:32] for number in range(size * 2)], axis=1)
            result: Array
            if size == 2:
                result = rows.view(np.uint16).reshape(4, 8, 8).transpose(0, 2, 1)
            else:
                # Two tiles of 16 lanes: the upper part of the row, which half of the row, the lower part of the row; then the column.
                result = rows.view(np.uint8).reshape(2, 2, 2, 4, 8).transpose(0, 2, 4, 1, 3)
            per_lane = np.ascontiguousarray(result).reshape(32, 8).view(np.uint32).reshape(32, -1)
            if wave.lanes == 64:
                half = per_lane.shape[1] // 2
                per_lane = np.concatenate([per_lane[:, :half], per_lane[:, half:]])
            for number in range(per_lane.shape[1]):
                wave.u32[register + number] = per_lane[:, number]

        return step


_COUNTS = ("b32", "b64", "b96", "b128")
_SMALL = ("u8", "i8", "u16", "i16")
_STORED = ("b8", "b16", *_COUNTS)
_HALVES = ("u8", "i8", "b16")
_VERBS = ("add", "sub", "min", "max", "and", "or", "xor", "inc", "dec")


@cache
def transfers(generation: str) -> Mapping[str, Vectors | Shared | ScalarLoad | Atomic | TransposedLoad]:
    """Return the instructions of a generation that access memory, by mnemonic."""
    long_offset = generation == "gfx12"
    found: dict[str, Vectors | Shared | ScalarLoad | Atomic | TransposedLoad] = {}
    for segment in ("buffer", "global"):
        names = [f"load_{shape}" for shape in (*_SMALL, *_COUNTS)] + [f"store_{shape}" for shape in _STORED]
        names += [f"load_{half}_{shape}" for half in ("d16", "d16_hi") for shape in _HALVES] + ["store_d16_hi_b8", "store_d16_hi_b16"]
        found |= {f"{segment}_{name}": Vectors(long_offset) for name in names}
        kinds = [f"{verb}_{letter}{bits}" for verb in _VERBS for letter in "uib" for bits in (32, 64)]
        kinds += [f"{verb}_b{bits}" for verb in ("swap", "cmpswap") for bits in (32, 64)]
        found |= {f"{segment}_atomic_{kind}": Atomic(long_offset) for kind in kinds}
    names = [f"load_{shape}" for shape in (*_SMALL, *_COUNTS)] + [f"store_{shape}" for shape in _STORED]
    names += [f"load_{shape}_d16{half}" for half in ("", "_hi") for shape in ("u8", "i8", "u16")]
    names += ["store_b8_d16_hi", "store_b16_d16_hi"]
    names += [f"{verb}_2addr{stride}_{size}" for verb in ("load", "store") for stride in ("", "_stride64") for size in ("b32", "b64")]
    found |= {f"ds_{name}": Shared() for name in names}
    kinds = [f"{verb}{rtn}_{letter}{bits}" for verb in _VERBS for rtn in ("", "_rtn") for letter in "uib" for bits in (32, 64)]
    kinds += [f"{name}_b{bits}" for name in ("storexchg_rtn", "cmpstore", "cmpstore_rtn") for bits in (32, 64)]
    found |= {f"ds_{kind}": Atomic(long_offset) for kind in kinds}
    shapes = (*_COUNTS, "b256", "b512", *_SMALL)
    found |= {f"s_{through}load_{shape}": ScalarLoad(24 if long_offset else 21) for through in ("", "buffer_") for shape in shapes}
    if long_offset:
        found |= {"global_load_tr_b128": TransposedLoad(2), "global_load_tr_b64": TransposedLoad(1)}
    return MappingProxyType(found)
