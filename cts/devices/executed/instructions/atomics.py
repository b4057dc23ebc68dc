"""Atomic operations on memory, in the order of lanes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np

from cts.devices.executed.arrays import Array
from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.instructions.meaning import Step
from cts.devices.executed.instructions.places import Part, signed
from cts.devices.executed.instructions.transfers import PLACES, WORD, deliver
from cts.devices.executed.wave import Counter, Wave

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
    """An atomic operation of each lane."""

    generation: str

    def __call__(self, instruction: Instruction) -> Step:
        parts = instruction.mnemonic.replace("atomic_", "").split("_")
        segment, verb, kind = parts[0], parts[1], parts[-1]
        size, with_sign = int(kind[1:]) // 8, kind[0] == "i"
        fields = instruction.fields
        data = fields.get("vdata", fields.get("data0", fields.get("data", 0)))
        result = fields.get("vdst", data)
        offset = 0
        if segment == "ds":
            returns, counter = "rtn" in parts, Counter.SHARE
            offset, compared, written = fields["offset0"] | fields["offset1"] << 8, data, fields["data1"]
        else:
            returns, counter = bool(fields["th"] & 1 if "th" in fields else fields["glc"]), Counter.LOAD
            compared, written = data + size // 4, data
        find, update = PLACES[segment](instruction, self.generation), _UPDATES.get(verb)

        def step(wave: Wave) -> None:
            olds, parts = np.zeros(wave.lanes, np.uint64), list(find(wave)(offset, size))
            for part in parts if segment != "ds" else ():
                wave.cache.publish(part.data, part.places, size, evict=True)
            for memory, start, lane in _cells(parts):
                operand = partial(_operand, wave, lane=lane, size=size, with_sign=with_sign)
                cell = memory[start : start + size]
                old = int.from_bytes(cell.tobytes(), "little", signed=with_sign)
                new = update(old, operand(data)) if update else operand(written) if old == operand(compared) else old
                cell[:] = np.frombuffer((new & (1 << 8 * size) - 1).to_bytes(size, "little"), np.uint8)
                olds[lane] = old & (1 << 8 * size) - 1
            if returns:
                words = [(olds >> np.uint64(32 * number)).astype(np.uint32) for number in range(size // 4)]
                wave.later(counter, partial(deliver, wave, result, WORD, words, wave.active))
            else:
                wave.later(counter if segment == "ds" else Counter.STORE, lambda: None)

        return step


def _cells(parts: Iterable[Part]) -> Iterator[tuple[Array, int, int]]:
    """Yield bytes of memory, first byte and lane of each lane that accesses memory."""
    for part in parts:
        for start, lane in zip(part.places.tolist(), np.flatnonzero(part.lanes).tolist(), strict=True):
            yield part.data, start, lane


def _operand(wave: Wave, register: int, lane: int, size: int, with_sign: bool) -> int:
    value = sum(int(wave.u32[register + number, lane]) << 32 * number for number in range(size // 4))
    return signed(value, 8 * size) if with_sign else value


_ALIKE = MappingProxyType(
    {**dict.fromkeys(("add", "sub", "inc", "dec"), "u"), **dict.fromkeys(("min", "max"), "ui"), **dict.fromkeys(("and", "or", "xor"), "b")}
)
"""The operations of all segments, with the letters of their types."""


def atomics(generation: str) -> Mapping[str, Atomic]:
    """Return the atomic operations of a generation by mnemonic."""
    alike = [f"{verb}%s_{letter}" for verb, letters in _ALIKE.items() for letter in letters]
    of_vectors = [f"{segment}_atomic_{name % ''}" for segment in ("buffer", "global") for name in (*alike, "swap%s_b", "cmpswap%s_b")]
    of_share = [f"ds_{name % returns}" for returns in ("", "_rtn") for name in (*alike, "cmpstore%s_b")]
    names = (*of_vectors, *of_share, "ds_storexchg_rtn_b")
    return MappingProxyType({f"{name}{bits}": Atomic(generation) for name in names for bits in (32, 64)})
