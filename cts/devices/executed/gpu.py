"""The GPU: executes command buffers, packet by packet, and starts the workgroups of each dispatch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import yaml

from cts.devices.executed.dispatch import Dispatch, run
from cts.devices.executed.errors import NotModelled
from cts.devices.executed.memory import ADDRESSES, Memory
from cts.devices.executed.program import Watch

GENERATIONS: Mapping[str, str] = MappingProxyType(
    {"gfx1201": "gfx12", "navi31": "gfx11", "navi33": "gfx11", "phoenix": "gfx11", "strix1": "gfx115"}
)
"""The generation of each chip that can be executed: of the three, gfx115 is gfx11 with further instructions."""

_FIRST_COMPUTE = 0x200
_USER_DATA, _USER_DATA_COUNT = 0x240, 16
_TYPE_3, _NOP_WORD = 3, 0xFFFF1000
_FORCE_START, _PARTIAL, _IN_THREADS, _WAVE32 = 1 << 2, 1 << 1, 1 << 5, 1 << 15
_KNOWN_INITIATOR = 1 | _FORCE_START | 1 << 6 | 1 << 13 | _WAVE32


@cache
def _tables() -> Mapping[str, Any]:
    """Return packets.yaml."""
    tables: Mapping[str, Any] = yaml.safe_load(Path(__file__).with_name("packets.yaml").read_text("utf-8"))
    return tables


class Gpu:
    """Executes what a driver submits.

    Args:
        memory: the GPU's memory.
        chip: a key of GENERATIONS.

    Attributes:
        generation: of the chip.
        dispatches: the number of the next dispatch, from which the order of its waves derives.
        watch: is told of each instruction of the shaders that begin from now on; None for nobody.

    Raises:
        NotModelled: from ``execute``: a packet, register or instruction is not modelled.
    """

    def __init__(self, memory: Memory, chip: str) -> None:
        self._memory, self.generation = memory, GENERATIONS[chip]
        self.dispatches = 0
        self._registers: dict[int, int] = {}
        self.watch: Watch | None = None
        tables = _tables()
        self._ignored = frozenset(tables["packets"]["ignored"])
        self._packets: Mapping[int, str] = tables["packets"]["executed"]
        user_data = range(_USER_DATA, _USER_DATA + _USER_DATA_COUNT)
        self._known = frozenset((*tables["registers"]["read"], *tables["registers"]["ignored"], *user_data))

    def host(self, address: int) -> int:
        """Return the address in this process of a byte of the GPU's memory."""
        buffer = self._memory.at(address)
        return buffer.data.ctypes.data + (address & ADDRESSES) - buffer.first

    def execute(self, buffers: Sequence[tuple[int, int]]) -> None:
        """Execute command buffers, each a GPU address and a size in bytes."""
        with np.errstate(all="ignore"):
            for address, size in buffers:
                self._execute(self._memory.words(address, size // 4).tolist())

    def _execute(self, words: list[int]) -> None:
        place = 0
        while place < len(words):
            header = words[place]
            if header == _NOP_WORD:
                place += 1
                continue
            if header >> 30 != _TYPE_3:
                raise NotModelled(f"packet of type {header >> 30}", f"({header:#010x})")
            count, opcode = (header >> 16 & 0x3FFF) + 1, header >> 8 & 0xFF
            body = words[place + 1 : place + 1 + count]
            place += 1 + count
            if opcode in self._ignored:
                continue
            name = self._packets.get(opcode)
            if name is None:
                raise NotModelled(f"packet {opcode:#x}", f"({count} words)")
            getattr(self, f"_{name.lower()}")(body)

    def _set(self, register: int, value: int) -> None:
        if register >= _FIRST_COMPUTE and register not in self._known:
            raise NotModelled(f"compute register {register:#x}", f"(value {value:#x})")
        self._registers[register] = value

    def _set_sh_reg(self, body: list[int]) -> None:
        for number, value in enumerate(body[1:]):
            self._set((body[0] & 0xFFFF) + number, value)

    _set_sh_reg_index = _set_sh_reg

    def _set_sh_reg_pairs(self, body: list[int]) -> None:
        for register, value in zip(body[::2], body[1::2], strict=True):
            self._set(register & 0xFFFF, value)

    def _indirect_buffer(self, body: list[int]) -> None:
        self._execute(self._memory.words(body[0] | body[1] << 32, body[2] & 0xFFFFF).tolist())

    def _write_data(self, body: list[int]) -> None:
        control, low, high, *data = body
        if control >> 8 & 15 not in (2, 5):
            raise NotModelled("WRITE_DATA", f"to destination {control >> 8 & 15}")
        self._memory.words(low | high << 32, len(data))[:] = data

    def _release_mem(self, body: list[int]) -> None:
        """Write the fence's value, if there is one."""
        what, low, high, *data = body[1:6]
        words = {0: 0, 1: 1, 2: 2}.get(what >> 29)
        if words is None:
            raise NotModelled("RELEASE_MEM", f"with data {what >> 29}")
        if words:
            self._memory.words(low | high << 32, words)[:] = data[:words]

    def _dma_data(self, body: list[int]) -> None:
        """Copy or fill bytes; a prefetch has no destination."""
        control, source, source_high, low, high, command = body
        size, where, to = command & 0x3FFFFFF, control >> 29 & 3, control >> 20 & 3
        if to == 2:
            return
        if size % 4 or where == 1 or to == 1:
            raise NotModelled("DMA_DATA", f"with control {control:#x} and {size} bytes")
        target = self._memory.words(low | high << 32, size // 4)
        target[:] = source if where == 2 else self._memory.words(source | source_high << 32, size // 4)

    def _dispatch_direct(self, body: list[int]) -> None:
        *groups, initiator = body
        if initiator & ~_KNOWN_INITIATOR or not initiator & _FORCE_START:
            raise NotModelled("DISPATCH_DIRECT", f"with initiator {initiator:#x}")
        registers = self._registers
        size = tuple(registers[0x207 + axis] & 0xFFFF for axis in range(3))
        run(
            Dispatch(
                generation=self.generation,
                lanes=32 if initiator & _WAVE32 else 64,
                groups=(groups[0], groups[1], groups[2]),
                size=(size[0], size[1], size[2]),
                code=(registers[0x20C] | registers.get(0x20D, 0) << 32) << 8,
                resources=(registers[0x212], registers[0x213]),
                user_data=tuple(registers.get(_USER_DATA + number, 0) for number in range(_USER_DATA_COUNT)),
            ),
            self._memory,
            self.dispatches,
            self.watch,
        )
        self.dispatches += 1
