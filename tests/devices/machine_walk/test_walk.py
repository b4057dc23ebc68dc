"""The way back from an element through the machine code that made it, in small programs."""

from __future__ import annotations

import numpy as np
import pytest

from cts.devices.machine_walk.recorder import Recorder
from cts.devices.machine_walk.walk import MOST_LINES, walk
from cts.verdict.machine import MachineWalk
from tests.devices.executed.test_dispatch import END, OUT, WAIT_LOADS, Machine, mov, shifted, store

DATA = 0x2000
"""Where programs load, in bytes after OUT."""

LANE = shifted(1, 0)
"""v1 = 4 * the place in the workgroup."""


def add(register: int, one: int, other: int) -> int:
    """Return v_add_nc_u32 of vector registers."""
    return 0x4A000000 | register << 17 | other << 9 | 256 + one


def load(register: int, vaddr: int, offset: int = DATA) -> list[int]:
    """Return global_load_b32 from s[0:1] plus two offsets, and its wait."""
    return [0xEE050000, register, vaddr | offset << 8, WAIT_LOADS]


def way(
    code: list[int], lane: int = 0, size: int = 4, byte: int | None = None, data: tuple[int, ...] = (), group=(32, 1, 1)
) -> MachineWalk:
    """Return the way back from the word of a lane after a program, or from another byte of the results."""
    machine = Machine()
    machine.out[DATA // 4 : DATA // 4 + len(data)] = data
    recorder = Recorder(machine.gpu.generation)
    machine.gpu.watch = recorder.watch
    machine.dispatch(code, size=group)
    begin = machine.gpu.host(OUT)
    element = begin + (4 * lane if byte is None else byte)
    return walk(list(recorder.events), element, size, machine.gpu.generation, lambda host: f"byte {host - begin}")


def told(found: MachineWalk) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(line.code, line.result, line.sources) for line in found.lines]


def codes(found: MachineWalk) -> list[str]:
    return [line.code for line in found.lines]


def test_it_goes_from_the_store_through_each_instruction_to_the_load_with_the_values_of_the_lane():
    code = [LANE, *load(2, 1), mov(4, 1), add(3, 2, 2), mov(5, 1), *store(3, 1), END]
    found = way(code, lane=3, data=(5, 6, 7, 8))
    assert told(found) == [
        ("global_store_b32 v3, v1, s[0:1]", "", ("v3 = 0x00000010",)),
        ("v_add_nc_u32 v3, v2, v2", "v3 = 0x00000010", ("v2 = 0x00000008", "v2 = 0x00000008")),
        (f"global_load_b32 v2, v1, s[0:1] offset:{DATA}", "v2 = 0x00000008", ("v1 = 0x0000000c", "s[0:1] = 0x00200000 0x00008000")),
    ]
    assert [line.offset for line in found.lines] == [32, 24, 4]
    assert found.lines[-1].note == f"from byte {DATA + 12}"
    assert not found.more


def test_it_names_the_lane_and_its_invocation():
    # v1 = 4 * the lane.
    code = [0xD71F0001, 0x000100C1, shifted(1, 1), mov(2, 135), *store(2, 1), END]
    assert way(code, lane=21, group=(4, 4, 2)).what == "stored by lane 21 of 32, invocation (1, 1, 1) of its workgroup"


def test_the_last_store_of_the_element_counts():
    code = [LANE, mov(2, 129), mov(3, 130), *store(2, 1), *store(3, 1), END]
    assert codes(way(code))[1:] == ["v_mov_b32 v3, 2"]


def test_an_element_that_nothing_stored_has_no_way_back():
    assert way([LANE, mov(2, 129), *store(2, 1), END], byte=0x800).lines == ()


def test_what_another_lane_did_is_not_followed():
    # Only lanes 0 and 1 execute the second move.
    code = [LANE, mov(2, 129), 0xBEFE0083, mov(2, 130), 0xBEFE00C1, *store(2, 1), END]
    assert codes(way(code, lane=1))[1:] == ["v_mov_b32 v2, 2"]
    assert codes(way(code, lane=2))[1:] == ["v_mov_b32 v2, 1"]


def test_of_two_registers_that_are_exchanged_the_other_one_is_followed():
    code = [LANE, mov(2, 129), mov(3, 130), 0x7E00CA00 | 2 << 17 | 256 + 3, *store(2, 1), END]
    assert codes(way(code))[1:] == ["v_swap_b32 v2, v3", "v_mov_b32 v3, 2"]


@pytest.mark.parametrize(("mask", "chosen"), [(0x80, "v_mov_b32 v2, 1"), (0xC1, "v_mov_b32 v3, 2")])
def test_of_two_operands_the_chosen_one_is_followed_and_the_mask(mask, chosen):
    # v_cndmask_b32 v4, v2, v3, vcc_lo after s_mov_b32 vcc_lo.
    code = [LANE, mov(2, 129), mov(3, 130), 0xBEEA0000 | mask, 0x02000000 | 4 << 17 | 3 << 9 | 256 + 2, *store(4, 1), END]
    found = codes(way(code))
    assert found[1:2] + found[3:] == ["v_cndmask_b32 v4, v2, v3, vcc_lo", chosen]
    assert found[2].startswith("s_mov_b32 vcc_lo")


def test_the_rounds_of_a_loop_are_one_line():
    # s2 counts to 3; v2 doubles in each round.
    body = [add(2, 2, 2), 0x80028102, 0xBF0A8302, 0xBFA2FFFC]
    found = way([LANE, mov(2, 129), 0xBE820080, *body, *store(2, 1), END])
    assert [(line.code, line.result, line.times) for line in found.lines[1:]] == [
        ("v_add_nc_u32 v2, v2, v2", "v2 = 0x00000008", 3),
        ("v_mov_b32 v2, 1", "v2 = 0x00000001", 1),
    ]


def test_a_half_is_followed_apart_from_the_other():
    # v_mov_b16 v2.l, 1 and v2.h, 2; then global_store_d16_hi_b16.
    low, high = 0x7E003800 | 2 << 17 | 129, 0x7E003800 | 0x82 << 17 | 130
    hi_store = [0xEE094000, 2 << 23, 1]
    found = way([LANE, low, high, *hi_store, END], size=2)
    assert codes(found)[1:] == ["v_mov_b16 v2.h, 2"]
    found = way([LANE, low, high, *store(2, 1), END], size=4)
    assert codes(found)[1:] == ["v_mov_b16 v2.h, 2", "v_mov_b16 v2.l, 1"]


def test_a_way_that_is_too_long_says_so():
    found = way([LANE, mov(2, 129), *[add(2, 2, 2)] * (MOST_LINES + 5), *store(2, 1), END])
    assert (len(found.lines), found.more) == (MOST_LINES, True)


@pytest.mark.parametrize("element", [(0, 0), (9, 3), (7, 15)])
def test_a_multiplication_of_matrices_shows_the_row_and_the_column_of_the_element(element):
    # RDNA4, 32 lanes: lane l of A has row l % 16, of B column l % 16; K 0-7 in lanes 0-15, 8-15 in the others.
    row, column = element
    lane, register = column + 16 * (row // 8), row % 8
    a, b = (np.arange(256, dtype=np.float16).reshape(16, 16) % 13 - shift for shift in (2, 5))
    words = []
    for matrix in (a, b.T):
        in_lanes = matrix.reshape(16, 2, 8).transpose(1, 0, 2).reshape(32, 8).astype(np.float16)
        words += np.ascontiguousarray(in_lanes).view(np.uint32).T.reshape(-1).tolist()
    loads = [word for number in range(8) for word in load(10 + number, 1, DATA + 128 * number)]
    wmma = [0xCC400000 | 18 | 1 << 14, 0x1C000000 | 256 + 10 | (256 + 14) << 9 | (256 + 18) << 18]
    zeros = [mov(18 + number, 128) for number in range(8)]
    found = way([LANE, *loads, *zeros, *wmma, *store(18 + register, 1), END], lane=lane, data=tuple(words))
    line = found.lines[1]
    assert line.code == "v_wmma_f32_16x16x16_f16 v[18:25], v[10:13], v[14:17], v[18:25]"
    value = float(a[row].astype(float) @ b[:, column].astype(float))
    assert line.result.endswith(f"({value:.9g})")
    c, of_a, of_b = line.note.split("; ")
    assert c == f"C: v{18 + register} = 0x00000000 (0)"
    assert of_a == f"A, row {row}, in lanes {row}, {row + 16}: " + " ".join(f"{one:.5g}" for one in a[row])
    assert of_b == f"B, column {column}, in lanes {column}, {column + 16}: " + " ".join(f"{one:.5g}" for one in b[:, column])
    assert codes(found)[2] == f"v_mov_b32 v{18 + register}, 0"
    assert sum(code.startswith("global_load_b32") for code in codes(found)) == 8
