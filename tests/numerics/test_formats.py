"""Conversion between bits and numbers, and the limits of the formats."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.numerics.formats import (
    bits_of,
    denormals,
    encode,
    integers,
    is_nan,
    largest_finite,
    largest_whole,
    sign_bit,
    signalling_nans,
    smallest_normal,
    values,
)
from generators.types import COMPONENT_TYPES, ComponentType

FLOATS = [component for component in COMPONENT_TYPES.values() if component.is_float]
INTEGERS = [component for component in COMPONENT_TYPES.values() if not component.is_float]
BIASES = {"f16": 15, "f32": 127, "f64": 1023, "bf16": 127, "e4m3": 7, "e5m2": 15}


def by_hand(bits: int, component: ComponentType) -> float:
    """Compute the value of a finite pattern from sign, exponent and fraction."""
    fraction_bits = component.precision - 1
    sign, exponent = bits >> (component.bits - 1), bits >> fraction_bits & (1 << (component.bits - component.precision)) - 1
    fraction = bits & (1 << fraction_bits) - 1
    significand, power = (fraction, 1) if exponent == 0 else (fraction | 1 << fraction_bits, exponent)
    return float((-1) ** sign * np.ldexp(float(significand), power - BIASES[component.name] - fraction_bits))


@given(st.sampled_from(FLOATS), st.data())
def test_floats_are_sign_exponent_and_fraction(component: ComponentType, data: st.DataObject) -> None:
    bits = data.draw(st.integers(0, (1 << component.bits) - 1))
    array = np.array([bits], component.bits_dtype)
    number = values(array, component)[0]
    if not np.isfinite(number):
        return
    assert number == by_hand(bits, component)
    assert encode(component, np.array([number])).tolist() == [bits]
    assert bits_of(component, float(number)) == bits
    exponent = bits >> (component.precision - 1) & (1 << (component.bits - component.precision)) - 1
    assert denormals(np.array([number]), component).item() == (exponent == 0 and number != 0)


@given(st.sampled_from(INTEGERS), st.integers(-(2**70), 2**70), st.booleans())
def test_integers_are_read_by_the_signedness_asked_for(component: ComponentType, number: int, signed: bool) -> None:
    bits = bits_of(component, number)
    assert bits == number % (1 << component.bits)
    found = int(integers(np.array([bits], component.bits_dtype), component, signed)[0])
    assert found == (bits - (1 << component.bits) if signed and bits & sign_bit(component) else bits)
    own = int(values(np.array([bits], component.bits_dtype), component)[0])
    assert own == (bits - (1 << component.bits) if component.is_signed and bits & sign_bit(component) else bits)


@pytest.mark.parametrize("component", FLOATS, ids=str)
def test_the_limits_of_a_float(component: ComponentType) -> None:
    top, least = bits_of(component, largest_finite(component)), bits_of(component, smallest_normal(component))
    above, below = values(np.array([top + 1], component.bits_dtype), component)[0], np.array([least - 1], component.bits_dtype)
    assert not np.isfinite(above)
    assert least == 1 << (component.precision - 1)
    assert denormals(values(below, component), component).all()
    assert not denormals(np.array([smallest_normal(component), 0.0]), component).any()


@pytest.mark.parametrize("component", COMPONENT_TYPES.values(), ids=str)
def test_the_largest_whole_number_is_the_last_without_a_gap(component: ComponentType) -> None:
    last = largest_whole(component)
    if component.is_float:
        wanted = np.array([last - 1, last, last + 1], np.float64)
        assert (values(encode(component, wanted), component) == wanted).tolist() == [True, True, component.bits == 64]
    else:
        assert last == np.iinfo(component.dtype).max


def test_nan_is_found_only_in_floats() -> None:
    assert is_nan(np.array([0x7E00, 0x7C00, 0xFE01, 0], np.uint16), COMPONENT_TYPES["f16"]).tolist() == [True, False, True, False]
    assert is_nan(np.array([0x7F, 0xFF, 0x7E], np.uint8), COMPONENT_TYPES["e4m3"]).tolist() == [True, True, False]
    assert not is_nan(np.array([0xFFFF], np.uint16), COMPONENT_TYPES["u16"]).any()


@given(st.floats(width=32, allow_nan=False))
def test_bits_of_a_float32_are_those_of_struct(number: float) -> None:
    assert bits_of(COMPONENT_TYPES["f32"], number) == struct.unpack("<I", struct.pack("<f", number))[0]


@pytest.mark.parametrize(("name", "quiet"), [("f16", 0x0200), ("bf16", 0x0040), ("f32", 0x00400000)])
def test_signalling_nans_keep_sign_and_payload(name: str, quiet: int) -> None:
    component = COMPONENT_TYPES[name]
    bits = np.random.default_rng(1).integers(0, 1 << component.bits, 1000, component.bits_dtype)
    nans = signalling_nans(bits, component)
    assert is_nan(nans, component).all()
    assert not (nans & component.bits_dtype.type(quiet)).any()
    sign = component.bits_dtype.type(1 << component.bits - 1)
    assert ((nans & sign) == (bits & sign)).all()
    assert len(np.unique(nans)) > 50
