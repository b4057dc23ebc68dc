"""Records what the waves of a shader execute: the registers that each instruction reads, with their values, and where it stores."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from cts.devices.executed.arrays import Array
from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.instructions.meaning import Step
from cts.devices.executed.instructions.places import Part
from cts.devices.executed.instructions.transfers import PLACES, shape_of
from cts.devices.executed.wave import Wave
from cts.devices.machine_walk.registers import Use, use_of

_KEPT = 200_000
"""How many instructions are kept, the last ones: a few hundred bytes each."""


@dataclass(frozen=True)
class Seen:
    """A wave at its first instruction.

    Attributes:
        start: the address of the shader.
        places: the first vector register, with the place of each lane in the workgroup.
    """

    wave: Wave
    start: int
    places: Array


@dataclass(frozen=True)
class Event:
    """An instruction that a wave executed.

    Attributes:
        offset: where it is in the shader, in bytes.
        active: which lanes were.
        values: of each operand that it read: the words of each lane, or words that all share.
        accesses: where it loaded or stored each word, by the word's number.
    """

    seen: Seen
    offset: int
    instruction: Instruction
    use: Use
    active: Array
    values: tuple[Array | list[int], ...]
    accesses: tuple[tuple[int, Part], ...] = ()

    def lane_at(self, host: int) -> tuple[int, int, int] | None:
        """Return the lane that stored a byte, the number of the word that it is in, and the byte's place in the word; None if none did."""
        for number, part in () if "load" in self.instruction.mnemonic else self.accesses:
            size = shape_of(self.instruction.mnemonic).size
            distance = host - part.data.ctypes.data - part.places
            if (hit := np.flatnonzero((distance >= 0) & (distance < size))).size:
                return int(np.flatnonzero(part.lanes)[hit[-1]]), number, int(distance[hit[-1]])
        return None

    def place_of(self, lane: int, word: int) -> int | None:
        """Return the address in this process where a lane loaded or stored a word; None if it did not, or that is not recorded."""
        for number, part in self.accesses:
            if number == word and part.lanes[lane]:
                return int(part.data.ctypes.data + part.places[part.lanes[:lane].sum()])
        return None


class Recorder:
    """Is told of each instruction before it is executed; see cts.devices.executed.program.Watch."""

    def __init__(self, generation: str) -> None:
        self._generation = generation
        self._seen: dict[Wave, Seen] = {}
        self.events: deque[Event] = deque(maxlen=_KEPT)

    def watch(self, address: int, instruction: Instruction, step: Step) -> Step:
        """Return the step, which then records itself."""
        uses: dict[int, list[tuple[Instruction, Use]]] = {}
        parts = instruction.halves or (instruction,)

        def recorded(wave: Wave) -> None:
            seen = self._seen.get(wave) or self._seen.setdefault(wave, Seen(wave, wave.pc, wave.u32[0].copy()))
            if wave.lanes not in uses:
                uses[wave.lanes] = [(part, use_of(part, wave.lanes, self._generation)) for part in parts]
            for part, use in uses[wave.lanes]:
                values = tuple(operand.read(wave) if operand.is_register else [] for operand in use.reads)
                accesses = self._accesses(part, wave)
                self.events.append(Event(seen, address - seen.start, part, use, wave.active.copy(), values, accesses))
            step(wave)

        return recorded

    def _accesses(self, instruction: Instruction, wave: Wave) -> tuple[tuple[int, Part], ...]:
        segment, _, verb = instruction.mnemonic.partition("_")
        # Lanes get parts of what others load if the load transposes.
        if segment not in ("buffer", "global") or not verb.startswith(("load", "store", "atomic")) or verb.startswith("load_tr"):
            return ()
        access, shape = PLACES[segment](instruction, self._generation)(wave), shape_of(instruction.mnemonic)
        return tuple((number, part) for number in range(shape.count) for part in access(4 * number, shape.size))
