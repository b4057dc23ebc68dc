"""WMMA: positions of elements, types, and one rounding of an exact sum."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
import pytest

from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.instructions.matrices import exact_sums
from cts.devices.executed.instructions.packed import BF8, FP8
from cts.devices.executed.instructions.table import prepare
from cts.devices.executed.wave import POISON, Wave
from tests.devices.executed.states import wave_of

A, B, C, D = 8, 24, 40, 60
ROW = np.arange(16)


def place_of_factor(generation: str, lanes: int, outer: int, k: int) -> tuple[int, int]:
    """Return lane and place of the element (row, k) of A, or (k, column) of B."""
    if generation == "gfx11":
        return outer, k
    per_lane = 256 // lanes
    part = k // per_lane
    return outer + 16 * (part if lanes == 32 else [0, 2, 1, 3][part]), k % per_lane


def place_of_result(generation: str, lanes: int, row: int, column: int) -> tuple[int, int]:
    """Return lane and place of the element (row, column) of C and the result."""
    if generation == "gfx11":
        return column + 16 * (row % (lanes // 16)), row // (lanes // 16)
    return place_of_factor(generation, lanes, column, row)


def put(wave: Wave, register: int, lane: int, place: int, code: int, size: int) -> None:
    """Write an element of ``size`` bytes."""
    per_word = 4 // size
    shift = 8 * size * (place % per_word)
    word = int(wave.vectors[register + place // per_word, lane]) & ~(((1 << 8 * size) - 1) << shift)
    wave.vectors[register + place // per_word, lane] = word | code << shift


def product(generation: str, lanes: int, name: str, a: np.ndarray, b: np.ndarray, c: np.ndarray, **fields: int) -> np.ndarray:
    """Return the codes of D for codes of A, B and C, by v_wmma."""
    wave = wave_of(lanes)
    for outer in range(16):
        for k in range(16):
            lane, place = place_of_factor(generation, lanes, outer, k)
            # On gfx11, other lanes repeat the first 16.
            for repeat in range(lane, lanes if generation == "gfx11" else lane + 1, 16):
                put(wave, A, repeat, place, int(a[outer, k]), a.itemsize)
                put(wave, B, repeat, place, int(b[k, outer]), b.itemsize)
            lane, place = place_of_result(generation, lanes, outer, k)
            # On gfx11, 16-bit elements are in one half of each word.
            if generation == "gfx11" and c.itemsize == 2:
                wave.vectors[C + place, lane] = int(c[outer, k]) << (16 if fields.get("op_sel", 0) & 4 else 0)
            else:
                put(wave, C, lane, place, int(c[outer, k]), c.itemsize)
    values = {"vdst": D, "src0": 256 + A, "src1": 256 + B, "src2": 256 + C, "neg": 0, "neg_hi": 0, "op_sel": 0, "clamp": 0, **fields}
    step = prepare(Instruction("VOP3P", f"v_wmma_{name}", MappingProxyType(values), None, None, 2), generation)
    assert step is not None
    step(wave)
    result = np.zeros((16, 16), c.dtype)
    for row in range(16):
        for column in range(16):
            lane, place = place_of_result(generation, lanes, row, column)
            if generation == "gfx11" and c.itemsize == 2:
                result[row, column] = wave.vectors[D + place, lane] >> (16 if fields.get("op_sel", 0) & 4 else 0) & 0xFFFF
            else:
                per_word = 4 // c.itemsize
                word = int(wave.vectors[D + place // per_word, lane])
                result[row, column] = word >> 8 * c.itemsize * (place % per_word) & ((1 << 8 * c.itemsize) - 1)
    return result


def bf16(values: np.ndarray) -> np.ndarray:
    """Return the codes of values that bf16 has."""
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


SMALL = (ROW[:, np.newaxis] * 3 + ROW * 5) % 7 - 3.0
OTHER = (ROW[:, np.newaxis] * 2 + ROW * 7) % 9 - 4.0
SUM = np.outer(ROW, ROW) % 11 - 5.0
EXPECTED = SMALL @ OTHER + SUM

SHAPES = [(generation, lanes) for generation in ("gfx11", "gfx12") for lanes in (32, 64)]


@pytest.mark.parametrize(("generation", "lanes"), SHAPES)
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_f32_from_16_bit_floats(generation, lanes, kind):
    codes = (lambda values: values.astype(np.float16).view(np.uint16)) if kind == "f16" else bf16
    found = product(generation, lanes, f"f32_16x16x16_{kind}", codes(SMALL), codes(OTHER), SUM.astype(np.float32).view(np.uint32))
    assert found.view(np.float32).tolist() == EXPECTED.tolist()


@pytest.mark.parametrize(("generation", "lanes"), SHAPES)
@pytest.mark.parametrize("op_sel", [0, 4])
def test_16_bit_results(generation, lanes, op_sel):
    half = [codes.astype(np.float16).view(np.uint16) for codes in (SMALL, OTHER, SUM)]
    fields = {"op_sel": op_sel} if generation == "gfx11" else {}
    assert product(generation, lanes, "f16_16x16x16_f16", *half, **fields).view(np.float16).tolist() == EXPECTED.tolist()
    found = product(generation, lanes, "bf16_16x16x16_bf16", *map(bf16, (SMALL, OTHER, SUM)), **fields)
    assert found.tolist() == bf16(EXPECTED).tolist()


@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize("kinds", [("fp8", "fp8"), ("fp8", "bf8"), ("bf8", "fp8"), ("bf8", "bf8")])
def test_f32_from_8_bit_floats(lanes, kinds):
    values = {"fp8": FP8, "bf8": BF8}
    a, b = (
        np.nanargmin(np.abs(matrix[:, :, np.newaxis] - values[kind]), 2).astype(np.uint8)
        for matrix, kind in zip((SMALL, OTHER), kinds, strict=True)
    )
    found = product("gfx12", lanes, f"f32_16x16x16_{kinds[0]}_{kinds[1]}", a, b, SUM.astype(np.float32).view(np.uint32))
    assert found.view(np.float32).tolist() == (values[kinds[0]][a] @ values[kinds[1]][b] + SUM).tolist()


@pytest.mark.parametrize(("generation", "lanes"), SHAPES)
@pytest.mark.parametrize("neg", range(4))
def test_integers_have_a_sign_for_each_factor(generation, lanes, neg):
    a, b = ((ROW[:, np.newaxis] * factor + ROW * 37) % 256 for factor in (11, 23))
    c = (np.outer(ROW, ROW) - 100).astype(np.int32)
    signed = [np.where(codes > 127, codes - 256, codes) if neg >> place & 1 else codes for place, codes in enumerate((a, b))]
    found = product(generation, lanes, "i32_16x16x16_iu8", a.astype(np.uint8), b.astype(np.uint8), c.view(np.uint32), neg=neg)
    assert found.view(np.int32).tolist() == (signed[0] @ signed[1] + c).tolist()


@pytest.mark.parametrize(("clamp", "expected"), [(0, 0x8000FE00), (1, 0x7FFFFFFF)])
def test_a_sum_of_integers_wraps_or_saturates(clamp, expected):
    factors, c = np.full((16, 16), 64, np.uint8), np.full((16, 16), 0x7FFFFE00, np.uint32)
    assert product("gfx12", 32, "i32_16x16x16_iu8", factors, factors, c, clamp=clamp)[3, 5] == expected


def test_c_may_be_negated_and_a_constant():
    ones = np.ones((16, 16), np.float16).view(np.uint16)
    c = np.full((16, 16), 3, np.float32).view(np.uint32)
    assert (product("gfx12", 32, "f32_16x16x16_f16", ones, ones, c, neg=4).view(np.float32) == 13).all()
    assert (product("gfx12", 32, "f32_16x16x16_f16", ones, ones, c, src2=242).view(np.float32) == 17).all()


def test_a_sum_is_rounded_once():
    # Two halves of the last place together decide: each alone would be a tie or lost.
    a, b, c = np.zeros((16, 16)), np.zeros((16, 16)), np.full((16, 16), 1.0)
    a[:, 0], b[0] = 2.0**-14, 2.0**-10
    a[:, 1], b[1] = 2.0**-24, 2.0**-24
    half = [matrix.astype(np.float16).view(np.uint16) for matrix in (a, b)]
    found = product("gfx12", 32, "f32_16x16x16_f16", *half, c.astype(np.float32).view(np.uint32))
    assert found[0, 0] == 0x3F800001


def test_inexact_sums_are_rounded_to_odd():
    a, b, c = np.zeros((16, 16)), np.zeros((16, 16)), np.full((16, 16), 1.0)
    a[:, 0], b[0] = 2.0**-30, 2.0**-30
    assert exact_sums(a, b, c)[0, 0] == np.nextafter(1.0, 2.0)


def undefined(wave: Wave, generation: str, name: str) -> np.ndarray:
    """Return the words of the result of v_wmma, of registers with zeros."""
    values = {"vdst": D, "src0": 256 + A, "src1": 256 + B, "src2": 256 + C, "neg": 0, "neg_hi": 0, "op_sel": 0, "clamp": 0}
    step = prepare(Instruction("VOP3P", f"v_wmma_{name}", MappingProxyType(values), None, None, 2), generation)
    assert step is not None
    step(wave)
    return wave.vectors[D : D + 8]


@pytest.mark.parametrize("generation", ["gfx11", "gfx12"])
@pytest.mark.parametrize("name", ["f32_16x16x16_f16", "i32_16x16x16_iu8"])
def test_a_result_is_poison_if_a_lane_is_inactive(generation, name):
    wave = wave_of(32)
    wave.exec = (1 << 31) - 1
    assert (undefined(wave, generation, name) == POISON).all()


def test_a_result_of_16_bits_is_poison_in_its_half():
    wave = wave_of(32)
    wave.exec = 1
    assert (undefined(wave, "gfx11", "f16_16x16x16_f16") == POISON & 0xFFFF).all()


@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize("register", [A, A + 7, B, B + 7])
def test_a_result_is_poison_if_the_other_lanes_of_rdna3_do_not_repeat_the_first_16(lanes, register):
    wave = wave_of(lanes)
    wave.vectors[register, lanes - 1] = 1
    assert (undefined(wave, "gfx11", "f32_16x16x16_f16")[: 256 // lanes] == POISON).all()
    assert not (undefined(wave, "gfx12", "f32_16x16x16_f16")[: 256 // lanes] == POISON).any()


def test_lanes_may_differ_in_registers_that_hold_no_matrix():
    wave = wave_of(32)
    wave.vectors[A + 4, 31] = 1
    assert not undefined(wave, "gfx11", "i32_16x16x16_iu8").any()
