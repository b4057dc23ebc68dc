"""States of a wave, as tests write them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.instructions.control import ENDINGS, IGNORED
from cts.devices.executed.instructions.table import prepare
from cts.devices.executed.memory import Memory
from cts.devices.executed.wave import EXEC, VCC, Counter, Wave, Workgroup
from tests.devices.executed.assembly import instruction

KEPT_DENORMALS = 0xF0
FOLLOWING = 0x100
"""The address after the instruction."""

BUFFER = 0x1000
"""The address of the memory that vectors name ``mem``."""

BYTES = 256
"""The size of this memory, and of the local data share, ``lds``."""


class Observed(Wave):
    """A wave that also has what it told its workgroup, and the memory it accesses."""

    __slots__ = ("memory", "signal")


def wave_of(lanes: int = 32, lds: int = BYTES, mode: int = KEPT_DENORMALS) -> Observed:
    """Return a wave whose lanes are active, and whose registers are 0."""
    memory, found = np.zeros(BYTES, np.uint8), Memory()
    found.map(BUFFER, BYTES, memory.ctypes.data)
    wave = Observed(Workgroup(found, np.zeros(lds, np.uint8)), lanes, 0, mode)
    wave.exec = (1 << lanes) - 1
    wave.memory, wave.signal = memory, None
    return wave


def apply(wave: Wave, text: str) -> None:
    """Write registers and memory: see vectors.tsv."""
    for name, value in (part.split("=") for part in text.split()):
        if name == "signal":
            wave.signal = value
        elif name == "pending":
            _begin(wave, value.split(","))
        elif name != "lanes":
            _write(wave, name, [int(number, 16) for number in value.strip("*").split(",")], value.endswith("*"))


def _write(wave: Wave, name: str, numbers: list[int], everywhere: bool) -> None:
    if name[0] == "v" and name[1].isdecimal():
        first, _, last = name[1:].partition("-")
        for register in range(int(first), int(last or first) + 1):
            wave.vectors[register, : None if everywhere else len(numbers)] = numbers
    elif name == "exec":
        wave.exec = numbers[0]
    elif name == "vcc":
        wave.set_mask(VCC, numbers[0])
    elif name in ("mem", "lds"):
        (wave.memory if name == "mem" else wave.group.lds).view(np.uint32)[: len(numbers)] = numbers
    elif name == "opened":
        wave.group.opened = numbers[0]
    elif name in ("scc", "mode", "pc"):
        setattr(wave, name, numbers[0])
    else:
        wave.scalars[int(name[1:])] = numbers[0]


def _begin(wave: Wave, counters: list[str]) -> None:
    """Begin accesses that set a lane of v9 each when they have their effect."""
    for lane, name in enumerate(counters):
        wave.later(Counter[name.upper()], partial(wave.vectors[9].__setitem__, lane, 1))


def begun(text: str, lanes: int | None = None) -> Observed:
    """Return a wave with a state before an instruction: see vectors.tsv."""
    parts = dict(part.split("=") for part in text.split())
    wave = wave_of(lanes or int(parts.get("lanes", "20"), 16))
    vectors = [value for name, value in parts.items() if name[0] == "v" and name[1].isdecimal()]
    everywhere = any(value.endswith("*") for value in vectors)
    wave.exec = (1 << (wave.lanes if everywhere else max([1, *(value.count(",") + 1 for value in vectors)]))) - 1
    apply(wave, text)
    return wave


def seen(wave: Observed) -> tuple[object, ...]:
    """Return all that an instruction may change."""
    scalars = {place: value for place, value in enumerate(wave.scalars) if value}
    vectors = {(int(row), int(lane)): f"{wave.vectors[row, lane]:x}" for row, lane in np.argwhere(wave.vectors)}
    memory = wave.memory.tobytes(), wave.group.lds.tobytes()
    return scalars, vectors, wave.scc, wave.mode, wave.exec, wave.active.tolist(), wave.pc, wave.signal, wave.group.opened, memory


def execute(wave: Observed, of: Instruction, act: Callable[[Wave], object]) -> None:
    """Execute a prepared instruction; what it accesses in memory has its effect unless it is a wait."""
    with np.errstate(all="ignore"):
        signal = act(wave)
    if of.mnemonic in ENDINGS:
        wave.signal = signal and signal.value
    if not of.mnemonic.startswith("s_wait"):
        wave.wait_for_all()


def prepared(of: Instruction, generation: str) -> Callable[[Wave], object]:
    """Return what executes an instruction."""
    if of.mnemonic in ENDINGS:
        return ENDINGS[of.mnemonic](of, FOLLOWING)
    return prepare(of, generation) or (lambda _: None)


def executed(wave: Observed, text: str, generation: str = "gfx12") -> Observed:
    """Return the wave after it has executed an instruction."""
    of = instruction(text, generation)
    assert of.mnemonic not in IGNORED
    execute(wave, of, prepared(of, generation))
    return wave


__all__ = ["EXEC", "apply", "begun", "execute", "executed", "prepared", "seen", "wave_of"]
