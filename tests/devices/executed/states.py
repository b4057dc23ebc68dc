"""States of a wave, as tests write them."""

from __future__ import annotations

import numpy as np

from cts.devices.executed.instructions.table import prepare
from cts.devices.executed.memory import Memory
from cts.devices.executed.wave import EXEC, VCC, Wave, Workgroup
from tests.devices.executed.assembly import instruction

KEPT_DENORMALS = 0xF0


def wave_of(lanes: int = 32, lds: int = 0, mode: int = KEPT_DENORMALS) -> Wave:
    """Return a wave whose lanes are active, and whose registers are 0."""
    wave = Wave(Workgroup(Memory(), np.zeros(lds, np.uint8)), lanes, 0, mode)
    wave.exec = (1 << lanes) - 1
    return wave


def apply(wave: Wave, text: str) -> None:
    """Write registers: see vectors.tsv."""
    for name, value in (part.split("=") for part in text.split()):
        numbers = [int(number, 16) for number in value.split(",")]
        if name[0] == "v" and name[1:].isdecimal():
            wave.vectors[int(name[1:]), : len(numbers)] = numbers
        elif name == "exec":
            wave.exec = numbers[0]
        elif name == "vcc":
            wave.set_mask(VCC, numbers[0])
        elif name in ("scc", "mode"):
            setattr(wave, name, numbers[0])
        elif name != "lanes":
            wave.scalars[int(name[1:])] = numbers[0]


def begun(text: str) -> Wave:
    """Return a wave with a state before an instruction: see vectors.tsv."""
    parts = dict(part.split("=") for part in text.split())
    wave = wave_of(int(parts.get("lanes", "20"), 16))
    wave.exec = (1 << max([1, *(value.count(",") + 1 for value in parts.values())])) - 1
    apply(wave, text)
    return wave


def seen(wave: Wave) -> tuple[object, ...]:
    """Return all that an instruction may change."""
    scalars = {place: value for place, value in enumerate(wave.scalars) if value}
    vectors = {(int(row), int(lane)): f"{wave.vectors[row, lane]:x}" for row, lane in np.argwhere(wave.vectors)}
    return scalars, vectors, wave.scc, wave.mode, wave.exec, wave.active.tolist()


def executed(wave: Wave, text: str, generation: str = "gfx12") -> Wave:
    """Return the wave after it has executed an instruction."""
    with np.errstate(all="ignore"):
        step = prepare(instruction(text, generation), generation)
        assert step is not None
        step(wave)
    return wave


__all__ = ["EXEC", "apply", "begun", "executed", "seen", "wave_of"]
