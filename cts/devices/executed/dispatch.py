"""A dispatch: its workgroups, their waves, and the registers with which each wave begins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from cts.devices.executed.arrays import Array
from cts.devices.executed.errors import NotModelled
from cts.devices.executed.instructions.control import Signal
from cts.devices.executed.memory import Memory
from cts.devices.executed.program import Program, Watch
from cts.devices.executed.wave import EXEC, TTMP, Wave, Workgroup

_LDS_UNIT = 512
"""Bytes in the unit of LDS_SIZE."""

_WGP_MODE = 29
"""The bit of COMPUTE_PGM_RSRC1 that lets the waves of a workgroup be on two compute units."""

_FP16_OVERFLOW = 26
_FP16_OVERFLOW_OF_MODE = 23


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


def run(dispatch: Dispatch, memory: Memory, watch: Watch | None = None) -> None:
    """Run all workgroups, one after another.

    Raises:
        NotModelled: something in the shader is not modelled.
    """
    if dispatch.field(0):
        raise NotModelled("scratch memory")
    program = Program(memory, dispatch.generation, watch)
    xs, ys, zs = (range(count) for count in dispatch.groups)
    for z, y, x in product(zs, ys, xs):
        lds = np.zeros(dispatch.field(15, 9) * _LDS_UNIT, np.uint8)
        group = Workgroup(memory, lds, one_unit=not dispatch.resources[0] >> _WGP_MODE & 1)
        waves = [_wave(dispatch, group, (x, y, z), number) for number in range(dispatch.waves)]
        # The last wave comes first, so a wave that needs a barrier to see what an earlier one stores does not see it without.
        _run_group([_execute(wave, program) for wave in reversed(waves)])


def _run_group(waves: list[Iterator[Signal]]) -> None:
    """Run waves in turns, each up to its next barrier; all must reach it, except those that have ended."""
    while waves:
        waves = [wave for wave in waves if next(wave) is not Signal.END]


def _execute(wave: Wave, program: Program) -> Iterator[Signal]:
    """Run a wave; yield at each barrier, and at its end."""
    signal: Signal | None = None
    while signal is not Signal.END:
        block = program.block(wave.pc)
        for step in block.steps:
            step(wave)
        signal = block.end(wave)
        if signal is Signal.END:
            wave.wait_for_all()
        if signal is not None:
            yield signal


def _wave(dispatch: Dispatch, group: Workgroup, ids: tuple[int, int, int], number: int) -> Wave:
    """Return a wave as it begins."""
    first, _ = dispatch.resources
    mode = first >> 12 & 0xFF | (first >> _FP16_OVERFLOW & 1) << _FP16_OVERFLOW_OF_MODE
    wave = Wave(group, dispatch.lanes, dispatch.code, mode)
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
