"""Rounding, sums and quotients, compared with rational numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from generators.numerics.error_bounds import quotient_bounds
from generators.numerics.error_free import two_product, two_sum
from generators.numerics.formats import encode, largest_finite, smallest_normal, values
from generators.numerics.rounding import by_magnitude, nearest, neighbours, neighbours_of_integers, to_bits, toward_zero, ulp
from generators.types import COMPONENT_TYPES, ComponentType

FLOATS = [COMPONENT_TYPES[name] for name in ("f16", "f32", "f64", "bf16", "e4m3", "e5m2")]
NARROW = [component for component in FLOATS if component.bits < 64]
MODERATE = st.floats(-1e30, 1e30).filter(lambda x: x == 0 or abs(x) > 1e-30)


def following(component: ComponentType, number: float) -> float:
    """Return the next larger number of ``component``."""
    bits = int(encode(component, np.array([abs(number)]))[0])
    if number >= 0:
        return float(values(np.array([bits + 1], component.bits_dtype), component)[0])
    return -float(values(np.array([bits - 1], component.bits_dtype), component)[0])


@given(st.sampled_from(NARROW), st.floats(-1, 1, allow_subnormal=False), st.integers(-30, 30))
def test_neighbours_enclose_a_number_and_have_nothing_between(component: ComponentType, fraction: float, exponent: int) -> None:
    number = float(np.ldexp(fraction, exponent))
    assume(0 < abs(number) < largest_finite(component) / 2)
    low, high = (float(x) for x in neighbours(component, np.array(number)))
    assert low <= number <= high
    assert high == (low if low == number else following(component, low))
    toward, away = (float(x) for x in by_magnitude(np.array(number), np.array(low), np.array(high)))
    assert abs(toward) <= abs(number) <= abs(away)
    assert toward == float(toward_zero(component, np.array(number)))
    assert float(nearest(component, np.array(number))) in (low, high)
    assert abs(low) < smallest_normal(component) or (high - low) in (0.0, float(ulp(component, np.array(toward))))


@given(st.sampled_from(FLOATS), MODERATE, MODERATE)
def test_neighbours_of_a_sum_are_those_of_the_exact_one(component: ComponentType, x: float, y: float) -> None:
    value, rest = two_sum(np.array(x), np.array(y))
    exact = Fraction(x) + Fraction(y)
    assert Fraction(float(value)) + Fraction(float(rest)) == exact
    assume(smallest_normal(component) < abs(value) < largest_finite(component) / 2)
    low, high = (float(found) for found in neighbours(component, value, rest))
    assert Fraction(low) <= exact <= Fraction(high)
    assert (low == high) == (Fraction(low) == exact)
    if low != high:
        assert high == following(component, low)


@given(MODERATE, MODERATE)
def test_a_product_and_what_it_leaves_are_exact(x: float, y: float) -> None:
    value, rest = two_product(np.array(x), np.array(y))
    assert Fraction(float(value)) + Fraction(float(rest)) == Fraction(x) * Fraction(y)


@given(st.sampled_from(FLOATS), st.integers(-(2**63), 2**64 - 1))
def test_neighbours_of_integers_are_exact(component: ComponentType, number: int) -> None:
    assume(abs(number) < largest_finite(component))
    array = np.array([number], np.int64 if number < 0 else np.uint64)
    toward, away = (Fraction(float(x[0])) for x in neighbours_of_integers(array, component))
    assert abs(toward) <= abs(number) <= abs(away)
    assert (toward == away) == (toward == number)
    assert Fraction(float(to_bits(np.array(float(toward)), component.precision))) == toward
    if toward != away:
        assert abs(away) - abs(toward) == Fraction(2) ** (abs(number).bit_length() - component.precision)


@given(st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False), st.integers(1, 52))
def test_fewer_bits_are_the_nearest_or_the_truncated(number: float, bits: int) -> None:
    assume(abs(number) < 1e300)
    rounded, cut = float(to_bits(np.array(number), bits)), float(to_bits(np.array(number), bits, np.trunc))
    unit = Fraction(2) ** (int(np.frexp(number)[1]) - bits)
    assert Fraction(cut) == int(Fraction(number) / unit) * unit
    assert abs(Fraction(rounded) - Fraction(number)) * 2 <= unit


@given(st.sampled_from([component for component in FLOATS if component.bits > 8]), st.data())
def test_bounds_of_quotients_let_in_exactly_the_numbers_within_them(component: ComponentType, data: st.DataObject) -> None:
    significand = st.integers(1 << (component.precision - 1), (1 << component.precision) - 1)
    x, y = (np.ldexp(float(data.draw(significand)), 1 - component.precision) for _ in range(2))
    low, high = quotient_bounds(component, np.array([x]), np.array([y]), 2.5)
    quotient = Fraction(float(x)) / Fraction(float(y))
    # Quotients are between 1/2 and 2. The nearer neighbour of a power of two is below it.
    above = 0 if quotient > 1 else 1 if quotient > Fraction(1, 2) else 2
    unit = Fraction(2) ** (1 - component.precision - above)
    center = Fraction(float(nearest(component, np.array(x / y))))
    for distance in range(-10, 11):
        number = center + distance * unit / 2
        if Fraction(float(nearest(component, np.array(float(number))))) == number:
            assert (low[0] <= float(number) <= high[0]) == (abs(number - quotient) <= Fraction(5, 2) * unit)
