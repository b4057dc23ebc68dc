"""Atomic operations on memory, in the order of lanes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np

from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.instructions.meaning import Step
from cts.devices.executed.instructions.places import ALL
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
        "inc": lambda old, new: 0 if old >= new else old + 1,
        "dec": lambda old, new: new if old == 0 or old > new else old - 1,
    }
)


@dataclass(frozen=True)
class Atomic:
    """An atomic operation of each lane on 32 bits."""

    generation: str

    def __call__(self, instruction: Instruction) -> Step:
        parts = instruction.mnemonic.replace("atomic_", "").split("_")
        segment, update = parts[0], _UPDATES[parts[1]]
        dtype, fields = np.dtype(f"<{parts[-1][0].replace('b', 'u')}4"), instruction.fields
        data = fields.get("vdata", fields.get("data0", fields.get("data", 0)))
        result, offset, counter = fields.get("vdst", data), 0, Counter.LOAD
        returns = "rtn" in parts or bool(fields["th"] & 1 if "th" in fields else fields.get("glc"))
        if segment == "ds":
            offset, counter = fields["offset0"] | fields["offset1"] << 8, Counter.SHARE
        find = PLACES[segment](instruction, self.generation)

        def step(wave: Wave) -> None:
            operands, olds = wave.u32[data].view(dtype), np.zeros(wave.lanes, dtype)
            for part in find(wave)(offset, 4):
                if segment != "ds":
                    wave.cache.publish(part.data, part.places, 4, evict=True)
                for start, lane in zip(part.places.tolist(), np.flatnonzero(part.lanes).tolist(), strict=True):
                    cell = part.data[start : start + 4].view(dtype)
                    olds[lane] = cell[0]
                    cell.view(np.uint32)[0] = update(int(cell[0]), int(operands[lane])) & ALL
            if returns:
                wave.later(counter, partial(deliver, wave, result, WORD, [olds.view(np.uint32)], wave.active))
            else:
                wave.later(counter if segment == "ds" else Counter.STORE, lambda: None)

        return step


_NAMES = ("add_u32", "sub_u32", "inc_u32", "dec_u32", "min_i32", "min_u32", "max_i32", "max_u32", "and_b32", "or_b32", "xor_b32")


def atomics(generation: str) -> Mapping[str, Atomic]:
    """Return the atomic operations of a generation by mnemonic."""
    of_vectors = [f"{segment}_atomic_{name}" for segment in ("buffer", "global") for name in (*_NAMES, "swap_b32")]
    of_share = [f"ds_{name.replace('_', returns)}" for name in _NAMES for returns in ("_", "_rtn_")]
    return MappingProxyType(dict.fromkeys((*of_vectors, *of_share), Atomic(generation)))
