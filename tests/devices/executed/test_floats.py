"""Modes of floating-point arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cts.devices.executed.arithmetic import DOWN, EVEN, UP, ZERO, added, fused, rounded
from cts.devices.executed.errors import NotModelled
from cts.devices.executed.instructions.packed import BF8, FP8
from tests.devices.executed.states import begun, executed

FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)
HALVES = st.floats(width=16, allow_nan=False, allow_infinity=False)


def one(value: float) -> np.ndarray:
    return np.array([value], np.float64)


def neighbours(exact: Fraction, dtype: type) -> tuple[float, float]:
    """Return the largest number of a format that is not above, and the smallest that is not below a fraction."""
    near = dtype(float(exact))
    low = near if Fraction(float(near)) <= exact else np.nextafter(near, dtype(-np.inf))
    high = near if Fraction(float(near)) >= exact else np.nextafter(near, dtype(np.inf))
    return float(low), float(high)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@given(a=HALVES, b=HALVES, c=HALVES)
def test_a_fused_multiply_add_is_rounded_once_in_each_direction(dtype, a, b, c):
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if abs(exact) >= float(np.finfo(dtype).max):
        return
    low, high = neighbours(exact, dtype)
    found = {mode: float(rounded(fused(one(a), one(b), one(c)), np.dtype(dtype), mode)[0]) for mode in (EVEN, UP, DOWN, ZERO)}
    assert (found[DOWN], found[UP]) == (low, high)
    assert found[ZERO] == (low if exact >= 0 else high)
    assert abs(Fraction(found[EVEN]) - exact) == min(abs(Fraction(low) - exact), abs(Fraction(high) - exact))


@given(a=FINITE, b=FINITE)
def test_a_sum_of_f32_is_rounded_once_in_each_direction(a, b):
    exact = Fraction(a) + Fraction(b)
    if abs(exact) >= float(np.finfo(np.float32).max):
        return
    low, high = neighbours(exact, np.float32)
    found = {mode: float(rounded(added(one(a), one(b)), np.dtype(np.float32), mode)[0]) for mode in (EVEN, UP, DOWN)}
    assert (found[DOWN], found[UP]) == (low, high)
    assert found[EVEN] == float(np.float32(a) + np.float32(b))


@pytest.mark.parametrize(("mode", "sign", "expected"), [(EVEN, 1, np.inf), (ZERO, 1, 65504), (DOWN, 1, 65504), (UP, -1, -65504)])
def test_what_is_too_large_becomes_infinite_or_the_largest_number_by_the_mode(mode, sign, expected):
    with np.errstate(over="ignore"):
        assert rounded(one(sign * 70000.0), np.dtype(np.float16), mode)[0] == expected


def test_the_codes_of_8_bit_floats():
    assert [FP8[code] for code in (0x00, 0x01, 0x08, 0x38, 0x7E, 0xB8)] == [0, 2.0**-9, 2.0**-6, 1, 448, -1]
    assert np.isnan(FP8[0x7F])
    assert [BF8[code] for code in (0x01, 0x04, 0x3C, 0x7B, 0x7C, 0xFC)] == [2.0**-16, 2.0**-14, 1, 57344, np.inf, -np.inf]
    assert np.isnan(BF8[0x7D])


@pytest.mark.parametrize(("mode", "expected"), [("f0", "7f7f"), ("8000f0", "7f7e")])
def test_an_8_bit_float_overflows_to_nan_or_to_the_largest_number_by_the_mode(mode, expected):
    wave = executed(begun(f"v0=43e88000 v1=7fc00000 mode={mode}"), "v_cvt_pk_fp8_f32 v2 v0 v1")
    assert f"{wave.vectors[2, 0]:x}" == expected


def test_f16_arithmetic_that_overflows_to_the_largest_number_is_an_error():
    with pytest.raises(NotModelled) as raised:
        executed(begun("mode=8000f0"), "v_add_f16 v2 v0 v1")
    assert raised.value.part == "FP16_OVFL"


def test_a_mode_register_is_written_in_part():
    wave = begun("mode=f0 s0=2")
    wave = executed(wave, "s_round_mode 0x5")
    assert wave.mode == 0xF5
    assert executed(wave, "s_denorm_mode 0x3").mode == 0x35
