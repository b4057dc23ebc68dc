"""Atomic operations on memory, in the order of lanes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.instructions.meaning import Step
from cts.devices.executed.instructions.places import ALL
from cts.devices.executed.instructions.transfers import PLACES, WORD, deliver, registers_of
from cts.devices.executed.wave import Counter, Wave

_UPDATES: Mapping[str, Callable[[int, int], int]] = {
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


def atomic(generation: str, instruction: Instruction) -> Step:
    """Prepare an atomic operation of each lane on 32 bits."""
    parts = instruction.mnemonic.replace("atomic_", "").split("_")
    segment, update = parts[0], _UPDATES[parts[1]]
    dtype, fields = np.dtype(f"<{parts[-1][0].replace('b', 'u')}4"), instruction.fields
    result, (data, *_) = registers_of(instruction)
    counter = Counter.SHARE if segment == "ds" else Counter.LOAD
    returns = "rtn" in parts or bool(fields["th"] & 1 if "th" in fields else fields.get("glc"))
    find = PLACES[segment](instruction, generation)

    def step(wave: Wave) -> None:
        operands, olds = wave.u32[data].view(dtype), np.zeros(wave.lanes, dtype)
        for part in find(wave)(0, 4):
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
