"""A dispatch: its workgroups, their waves, and the registers with which each wave begins."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from cts.devices.device import DeviceLost
from cts.devices.executed.arrays import Array
from cts.devices.executed.caches import Begun, Cache
from cts.devices.executed.errors import NotModelled
from cts.devices.executed.instructions.control import Signal
from cts.devices.executed.memory import Memory
from cts.devices.executed.program import Program, Watch
from cts.devices.executed.wave import EXEC, TTMP, Wave, Workgroup

_LDS_UNIT = 512
"""Bytes in the unit of LDS_SIZE."""

_WGP_MODE = 29
"""The bit of COMPUTE_PGM_RSRC1 that lets the waves of a workgroup be on two compute units."""

_IN_FLIGHT = 8
"""Workgroups begin while there are fewer waves than this."""

_FP16_OVERFLOW = 26
_FP16_OVERFLOW_OF_MODE = 23


class Hang(DeviceLost):
    """Waves wait for ever. On hardware the queue hangs, and the device is lost."""


@dataclass(frozen=True)
class Dispatch:
    """A dispatch.

    Attributes:
        generation: gfx11, gfx115 or gfx12.
        lanes: of each wave: 32 or 64.
        groups: workgroups in each dimension.
        size: invocations of a workgroup in each dimension.
        code: the address of the shader.
        resources: COMPUTE_PGM_RSRC1 and 2.
        user_data: COMPUTE_USER_DATA_0 and following.
    """

    generation: str
    lanes: int
    groups: tuple[int, int, int]
    size: tuple[int, int, int]
    code: int
    resources: tuple[int, int]
    user_data: tuple[int, ...]

    @property
    def waves(self) -> int:
        """How many waves a workgroup has."""
        return -(-self.size[0] * self.size[1] * self.size[2] // self.lanes)

    def field(self, lowest: int, width: int = 1) -> int:
        """Return bits of COMPUTE_PGM_RSRC2."""
        return self.resources[1] >> lowest & (1 << width) - 1


class Order:
    """In which order the waves of a dispatch run, and which stores reach memory before they must.

    Every second dispatch makes the opposite choices of the one before it, so of two waves each is the first in one of them. In the first
    two, a wave runs until it ends or a barrier holds it, and no store is early. In the others, both depend on chance, too.

    Args:
        number: the number of the dispatch, from which all choices derive.
    """

    def __init__(self, number: int) -> None:
        pair, self._opposite = divmod(number, 2)
        self._chance = random.Random(pair)
        self._switching = self._chance.choice((0.02, 0.1, 0.5)) if pair else 0.0
        self._early = self._chance.choice((0.0, 0.1, 0.5)) if pair else 0.0

    def choose(self, waves: list[Wave]) -> Wave:
        """Return the wave that runs next."""
        place = int(self._chance.random() * len(waves))
        return waves[-1 - place if self._opposite else place]

    def switches(self) -> bool:
        """Return whether another wave may run before the next access to memory."""
        return self._chance.random() < self._switching

    def publishes(self) -> bool:
        """Return whether a store reaches memory at once."""
        return self._chance.random() < self._early


def run(dispatch: Dispatch, memory: Memory, number: int = 0, watch: Watch | None = None) -> None:
    """Run all workgroups, several at a time.

    Args:
        number: see Order.
        watch: is told of each instruction; None for nobody.

    Raises:
        NotModelled: something in the shader is not modelled.
        Hang: waves wait at a barrier that never opens.
    """
    if dispatch.field(0):
        raise NotModelled("scratch memory")
    program, order, begun = Program(memory, dispatch.generation, watch), Order(number), Begun()
    xs, ys, zs = (range(count) for count in dispatch.groups)
    ids = ((x, y, z) for z, y, x in product(zs, ys, xs))
    alone = dispatch.waves == 1 and dispatch.groups == (1, 1, 1)
    running: dict[Wave, Iterator[Signal]] = {}
    caches: list[Cache] = []
    while True:
        while len(running) < _IN_FLIGHT and (place := next(ids, None)) is not None:
            shared = Cache(begun, order.publishes, shared=True)
            group = Workgroup(memory, np.zeros(dispatch.field(15, 9) * _LDS_UNIT, np.uint8), dispatch.waves)
            for part in range(dispatch.waves):
                cache = Cache(begun, order.publishes) if dispatch.resources[0] >> _WGP_MODE & 1 else shared
                caches.append(cache)
                wave = _wave(dispatch, group, place, part, None if alone else cache)
                running[wave] = _execute(wave, program)
        if not running:
            break
        ready = [wave for wave in running if wave.ready]
        if not ready:
            raise Hang(f"{len(running)} waves wait at a barrier that never opens")
        chosen = order.choose(ready)
        while (signal := next(running[chosen])) is Signal.ACCESS and not order.switches():
            pass
        if signal is Signal.END:
            del running[chosen]
    # Stores for which nobody waited are only there now.
    for cache in caches:
        cache.write_back()


def _execute(wave: Wave, program: Program) -> Iterator[Signal]:
    """Run a wave; yield before each access to memory, at each barrier, and at its end."""
    signal: Signal | None = None
    while signal is not Signal.END:
        block = program.block(wave.pc)
        first, *others = block.parts
        for step in first:
            step(wave)
        for part in others:
            yield Signal.ACCESS
            for step in part:
                step(wave)
        signal = block.end(wave)
        if signal is not None:
            yield signal


def _wave(dispatch: Dispatch, group: Workgroup, ids: tuple[int, int, int], number: int, cache: Cache | None) -> Wave:
    """Return a wave as it begins."""
    first, _ = dispatch.resources
    mode = first >> 12 & 0xFF | (first >> _FP16_OVERFLOW & 1) << _FP16_OVERFLOW_OF_MODE
    wave = Wave(group, dispatch.lanes, dispatch.code, mode, cache)
    count = dispatch.field(1, 5)
    wave.scalars[:count] = dispatch.user_data[:count]
    wanted = [axis for axis in range(3) if dispatch.field(7 + axis)]
    if dispatch.generation == "gfx12":
        wave.scalars[TTMP + 9] = ids[0]
        wave.scalars[TTMP + 7] = ids[1] | ids[2] << 16
        wave.scalars[TTMP + 8] = number << 25
    else:
        for axis in wanted:
            wave.scalars[count], count = ids[axis], count + 1
    if dispatch.field(10):
        # The number of waves, and the wave's own number, which RDNA3 has in two places.
        wave.scalars[count] = dispatch.waves | number << 6 | number << 20
    x, y, _ = dispatch.size
    linear = np.arange(number * dispatch.lanes, (number + 1) * dispatch.lanes, dtype=np.uint32)
    there: Array = linear < dispatch.size[0] * dispatch.size[1] * dispatch.size[2]
    wave.u32[0] = linear % x | linear // x % y << np.uint32(10) | linear // (x * y) << np.uint32(20)
    wave.set_mask(EXEC, sum(1 << int(lane) for lane in np.flatnonzero(there)))
    return wave
