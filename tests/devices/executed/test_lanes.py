"""Instructions that move data between lanes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cts.devices.executed.errors import NotModelled
from cts.devices.executed.instructions.table import prepare
from cts.devices.executed.wave import Wave
from tests.devices.executed.assembly import instruction
from tests.devices.executed.states import executed, wave_of

ALL_ROWS = 0xFF << 24
BOUND_CONTROL = 1 << 19
FETCH_INACTIVE = 1 << 18


def numbered(lanes: int = 32) -> Wave:
    """Return a wave whose v0 has each lane's number, and whose v1 has 100."""
    wave = wave_of(lanes)
    wave.vectors[0] = np.arange(lanes)
    wave.vectors[1] = 100
    return wave


def moved(control: int, further: int = ALL_ROWS, lanes: int = 32, active: int | None = None) -> list[int]:
    """Return v1 after v_mov_b32_dpp v1, v0."""
    wave = numbered(lanes)
    if active is not None:
        wave.exec = active
    of = replace(instruction("v_mov_b32 v1 v0"), dpp=control << 8 | further)
    of = replace(of, fields={**of.fields, "src0": 250})
    prepare(of, "gfx12")(wave)
    return wave.vectors[1].tolist()


@pytest.mark.parametrize(
    ("control", "row"),
    [
        (0b00_01_10_11, [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12]),
        (0x101, [*range(1, 16), 100]),
        (0x112, [100, 100, *range(14)]),
        (0x123, [13, 14, 15, *range(13)]),
        (0x140, [*range(15, -1, -1)]),
        (0x141, [*range(7, -1, -1), *range(15, 7, -1)]),
        (0x153, [3] * 16),
        (0x161, [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14]),
    ],
)
def test_dpp_reads_other_lanes_of_the_row(control, row):
    assert moved(control) == [*row, *(lane + 16 if lane != 100 else 100 for lane in row)]


def test_with_bound_control_a_lane_without_source_reads_0():
    assert moved(0x101, ALL_ROWS | BOUND_CONTROL)[:16] == [*range(1, 16), 0]


def test_only_enabled_rows_and_banks_are_written():
    # The second row, and of it the lanes 4-7.
    assert moved(0x140, 0x22 << 24) == [100] * 20 + [27, 26, 25, 24] + [100] * 8


def test_an_inactive_source_is_none_unless_it_is_fetched():
    assert moved(0x101, active=0b101)[:4] == [100, 100, 100, 100]
    assert moved(0x101, ALL_ROWS | FETCH_INACTIVE, active=0b101)[:4] == [1, 100, 3, 100]


def test_dpp8_selects_lanes_of_8():
    selects = sum((7 - lane) << 3 * lane for lane in range(8))
    wave = numbered()
    of = replace(instruction("v_mov_b32 v1 v0"), dpp=selects << 8)
    of = replace(of, fields={**of.fields, "src0": 233})
    prepare(of, "gfx12")(wave)
    assert wave.vectors[1, :16].tolist() == [7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8]


def test_an_unknown_control_is_an_error():
    with pytest.raises(NotModelled):
        moved(0x130)


def test_permlanex16_reads_the_other_row_of_each_pair():
    wave = executed(numbered(64), "v_permlanex16_b32 v1 v0 s0 s1")
    assert wave.vectors[1].tolist() == [16] * 16 + [0] * 16 + [48] * 16 + [32] * 16


def test_permlanex16_selects_lanes_by_two_words():
    wave = numbered()
    wave.scalars[0:2] = [0x76543210, 0x89ABCDEF]
    executed(wave, "v_permlanex16_b32 v1 v0 s0 s1")
    assert wave.vectors[1, :16].tolist() == [16, 17, 18, 19, 20, 21, 22, 23, 31, 30, 29, 28, 27, 26, 25, 24]


def test_permlanex16_has_a_literal():
    wave = executed(numbered(), "v_permlanex16_b32 v1 v0 0x89abcdef s0")
    assert wave.vectors[1, :9].tolist() == [31, 30, 29, 28, 27, 26, 25, 24, 16]


def test_mbcnt_counts_the_lanes_below_in_both_words():
    wave = wave_of(64)
    wave.vectors[0] = 0xFFFFFFFF
    executed(wave, "v_mbcnt_lo_u32_b32 v1 v0 0")
    executed(wave, "v_mbcnt_hi_u32_b32 v2 v0 v1")
    assert wave.vectors[2].tolist() == list(range(64))


def test_bpermute_fetches_from_lanes_by_address():
    wave = numbered()
    wave.vectors[2] = 4 * np.arange(31, -1, -1)
    wave.vectors[3] = wave.vectors[0] + 7
    fields = {"addr": 2, "data0": 3, "vdst": 4, "offset0": 0, "offset1": 0}
    prepare(replace(instruction("s_nop 0"), mnemonic="ds_bpermute_b32", format="DS", fields=fields), "gfx12")(wave)
    wave.wait_for_all()
    assert wave.vectors[4].tolist() == list(range(38, 6, -1))


def test_a_mask_of_64_lanes_is_in_two_registers():
    wave = numbered(64)
    executed(wave, "v_cmp_gt_u32_e64 s4 40 v0")
    assert (wave.scalars[4], wave.scalars[5]) == (0xFFFFFFFF, 0xFF)


def test_a_comparison_is_false_in_inactive_lanes():
    wave = numbered()
    wave.exec = 0xF0
    assert executed(wave, "v_cmp_gt_u32 40 v0").scalars[106] == 0xF0
