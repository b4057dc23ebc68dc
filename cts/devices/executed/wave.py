"""The state of a wave: its registers, the lanes that are active, and what all waves of a workgroup share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from cts.devices.executed.arrays import Array
from cts.devices.executed.caches import Uncached
from cts.devices.executed.memory import Memory

VCC, TTMP, NULL, M0, EXEC = 106, 108, 124, 125, 126
SCALARS = 128
VECTORS = 256

POISON = 0xDEADDEAD
"""What an instruction returns that must be executed by all lanes, and is not: far from any value that a test expects, in each format."""


class Counter(Enum):
    """What an instruction can wait for: the queues of accesses to memory."""

    LOAD = "loads of lanes"
    STORE = "stores of lanes"
    SHARE = "the local data share"
    SCALAR = "scalar loads of RDNA4; RDNA3 counts them with the local data share"


@dataclass
class Waited:
    """An access to memory whose effect is not there yet.

    Attributes:
        effect: makes it.
        scalar: whether it is a scalar load, which has its effect before or after others in any order.
    """

    effect: Callable[[], None]
    scalar: bool


@dataclass
class Workgroup:
    """What the waves of a workgroup share.

    Attributes:
        memory: the GPU's memory.
        lds: the bytes of the local data share.
        waves: how many waves have not ended.
        signals: how often they have signaled the barrier since it last opened.
        opened: how often it has opened.
    """

    memory: Memory
    lds: Array
    waves: int = 1
    signals: int = 0
    opened: int = 0

    def signal(self, signals: int = 1) -> None:
        """Signal the barrier, which opens when there are as many signals as waves."""
        self.signals += signals
        if self.signals >= self.waves:
            self.opened, self.signals = self.opened + 1, 0

    def end(self) -> None:
        """Let a wave end: the barrier waits for it no more."""
        self.waves -= 1
        if self.signals:
            self.signal(0)


class Wave:
    """A wave of 32 or 64 lanes.

    Attributes:
        lanes: how many lanes it has.
        scalars: the scalar registers by their number as an operand, with VCC, TTMP, M0 and EXEC, as unsigned numbers.
        vectors: the vector registers, 32-bit words by register and lane. Its views have the type in their name; 16-bit ones have the lower
            and the upper half of each lane in the last dimension.
        scc: the scalar condition code, 0 or 1.
        mode: FLOAT_MODE: bits 0-1 and 2-3 rounding, bits 4-5 and 6-7 denormals, first of f32, then of f16 and f64.
        pc: the address of the next instruction.
        active: which lanes EXEC has; ``full``: whether it has all.
        cache: of the wave's compute unit.
        signaled: how often the barrier had opened when the wave signaled it; ``math.inf`` if the wave has not, since it last waited.
        awaits: the wave is held until the barrier has opened more often than this.
    """

    __slots__ = (
        "active",
        *("f16", "f32", "i16", "i32", "u16", "u32"),
        *("awaits", "cache", "full", "group", "lanes", "mode", "pc", "scalars", "scc", "signaled", "vectors", "waited"),
    )

    def __init__(self, group: Workgroup, lanes: int, pc: int, mode: int, cache: Uncached | None = None) -> None:
        self.group, self.lanes, self.pc, self.mode, self.cache = group, lanes, pc, mode, cache or Uncached()
        self.signaled, self.awaits = math.inf, -1.0
        self.scalars = [0] * SCALARS
        self.scc = 0
        self.vectors = np.zeros((VECTORS, lanes), np.uint32)
        self.u32, self.i32, self.f32 = self.vectors, self.vectors.view(np.int32), self.vectors.view(np.float32)
        halves = self.vectors.view(np.uint16).reshape(VECTORS, lanes, 2)
        self.u16, self.i16, self.f16 = halves, halves.view(np.int16), halves.view(np.float16)
        self.active: Array = np.ones(lanes, bool)
        self.full = True
        self.waited: dict[Counter, list[Waited]] = {counter: [] for counter in Counter}

    def later(self, counter: Counter, effect: Callable[[], None], scalar: bool = False) -> None:
        """Let an access to memory have its effect when the wave waits for it."""
        self.waited[counter].append(Waited(effect, scalar))

    def signal(self) -> None:
        """Signal the barrier."""
        self.signaled = self.group.opened
        self.group.signal()

    def hold(self) -> None:
        """Hold the wave until the barrier has opened since its signal; for ever if it has not signaled."""
        self.awaits, self.signaled = self.signaled, math.inf

    @property
    def ready(self) -> bool:
        """Whether the wave is not held by the barrier."""
        return self.group.opened > self.awaits

    def wait(self, counter: Counter, left: int = 0) -> None:
        """Wait until at most so many accesses have no effect yet: the last ones, and scalar loads, which may come in any order."""
        queue = self.waited[counter]
        if len(queue) > left:
            queue.sort(key=lambda waited: waited.scalar)
            for waited in queue[: len(queue) - left]:
                waited.effect()
            del queue[: len(queue) - left]

    def wait_for_all(self) -> None:
        """Let every access to memory have its effect."""
        for counter in Counter:
            self.wait(counter)

    @property
    def exec(self) -> int:
        """The active lanes as a number, lane 0 in bit 0."""
        return self.pair(EXEC) if self.lanes == 64 else self.scalars[EXEC]

    @exec.setter
    def exec(self, lanes: int) -> None:
        self.set_mask(EXEC, lanes)

    def pair(self, register: int) -> int:
        """Return the 64 bits in two scalar registers."""
        return self.scalars[register] | self.scalars[register + 1] << 32

    def set_pair(self, register: int, value: int) -> None:
        """Write 64 bits to two scalar registers."""
        self.scalars[register], self.scalars[register + 1] = value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF

    def set_mask(self, register: int, lanes: int) -> None:
        """Write a number with a bit for each lane to one or two scalar registers."""
        if register == NULL:
            return
        if self.lanes == 64:
            self.set_pair(register, lanes)
        else:
            self.scalars[register] = lanes & 0xFFFFFFFF
        if register == EXEC:
            self.refresh()

    def refresh(self) -> None:
        """Derive the active lanes from EXEC, after a write to it."""
        self.active = lanes_of(self.exec, self.lanes)
        self.full = bool(self.active.all())


def lanes_of(mask: int, lanes: int) -> Array:
    """Return a number's lowest bits as booleans."""
    return np.unpackbits(np.frombuffer(mask.to_bytes(8, "little"), np.uint8), bitorder="little")[:lanes].view(bool)


def mask_of(lanes: Array) -> int:
    """Return booleans as a number, the first in bit 0."""
    return int.from_bytes(np.packbits(lanes, bitorder="little").tobytes(), "little")
