"""Instructions that move data between lanes, or between lanes and scalar registers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

import numpy as np

from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.instructions.meaning import Meaning, Step
from cts.devices.executed.instructions.transfers import WORD, deliver
from cts.devices.executed.instructions.vector import half_of
from cts.devices.executed.operands import FIRST_VECTOR, KINDS, scalar, vector, write_scalar, write_vector
from cts.devices.executed.wave import Counter, Wave

_B32 = KINDS["b32"]


def _read_lane(instruction: Instruction) -> Step:
    read, lane = vector(instruction["src0"], _B32), scalar(instruction["src1"], 32, instruction.literal)
    write = write_scalar(instruction["vdst"], 32)

    def step(wave: Wave) -> None:
        values = read(wave)
        write(wave, int(values[lane(wave) % wave.lanes % len(values)]))

    return step


def _read_first_lane(instruction: Instruction) -> Step:
    read, write = vector(instruction["src0"], _B32, instruction.literal), write_scalar(instruction["vdst"], 32)

    def step(wave: Wave) -> None:
        values, active = read(wave), wave.exec
        first = (active & -active).bit_length() - 1 if active else 0
        write(wave, int(values[first % len(values)]))

    return step


def _write_lane(instruction: Instruction) -> Step:
    value, lane = scalar(instruction["src0"], 32, instruction.literal), scalar(instruction["src1"], 32)
    register = instruction["vdst"]

    def step(wave: Wave) -> None:
        wave.u32[register, lane(wave) % wave.lanes] = value(wave)

    return step


def _permute_rows(instruction: Instruction) -> Step:
    """Prepare v_permlane16 or, of the other row in each pair, v_permlanex16."""
    read, write = vector(instruction["src0"], _B32), write_vector(instruction["vdst"], _B32)
    low, high = (scalar(instruction[name], 32, instruction.literal) for name in ("src1", "src2"))
    inactive, zero_outside = instruction["op_sel"] & 1, instruction["op_sel"] & 2
    other = 16 * instruction.mnemonic.startswith("v_permlanex")

    def step(wave: Wave) -> None:
        both, lane = low(wave) | high(wave) << 32, np.arange(wave.lanes)
        selects = np.array([both >> 4 * place & 15 for place in range(16)])
        source = (lane & ~15 ^ other) + selects[lane & 15]
        value = read(wave)[source]
        if not inactive and not wave.full:
            # Without bound control, lanes whose source is inactive keep their value.
            kept = np.uint32(0) if zero_outside else wave.u32[instruction["vdst"]]
            value = np.where(wave.active[source], value, kept)
        write(wave, value)

    return step


def _permute_halves(instruction: Instruction) -> Step:
    read, write = vector(instruction["src0"], _B32), write_vector(instruction["vdst"], _B32)
    return lambda wave: write(wave, np.roll(read(wave), 32) if wave.lanes == 64 else read(wave))


def _swap(instruction: Instruction) -> Step:
    kind = KINDS[instruction.mnemonic[-3:]]
    places = [half_of(instruction, code, kind) for code in (instruction["vdst"] + FIRST_VECTOR, instruction["src0"])]
    reads = [vector(code, kind, None, high) for code, high in places]
    writes = [write_vector(code - FIRST_VECTOR, kind, high) for code, high in places]

    def step(wave: Wave) -> None:
        old = reads[0](wave).copy()
        writes[0](wave, reads[1](wave))
        writes[1](wave, old)

    return step


def _fetch(instruction: Instruction) -> Step:
    """Prepare ds_bpermute_b32: each lane reads from the lane that its address names."""
    address, data, register = instruction["addr"], instruction["data0"], instruction["vdst"]
    offset = instruction["offset0"] | instruction["offset1"] << 8

    def step(wave: Wave) -> None:
        lane = (wave.u32[address] + np.uint32(offset) >> 2) % wave.lanes
        source = np.where(wave.active, wave.u32[data], np.uint32(0))
        wave.later(Counter.SHARE, partial(deliver, wave, register, WORD, [source[lane]], wave.active))

    return step


LANES: Mapping[str, Meaning] = MappingProxyType(
    {
        "v_readlane_b32": _read_lane,
        "v_readfirstlane_b32": _read_first_lane,
        "v_writelane_b32": _write_lane,
        "v_permlane16_b32": _permute_rows,
        "v_permlanex16_b32": _permute_rows,
        "v_permlane64_b32": _permute_halves,
        "v_swap_b32": _swap,
        "v_swap_b16": _swap,
        "ds_bpermute_b32": _fetch,
    }
)
