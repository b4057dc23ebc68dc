"""Floats as whole multiples of a unit, compared with the host's arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest

from generators.numerics.formats import smallest_normal
from generators.numerics.whole_units import Rounded, exact, rounded
from generators.types import COMPONENT_TYPES

F16, F32, F64 = (COMPONENT_TYPES[name] for name in ("f16", "f32", "f64"))


@pytest.mark.parametrize("component", [F16, F32, F64], ids=str)
def test_to_nearest_is_what_the_host_computes(component):
    rng = np.random.default_rng(1)
    left, right = (
        rng.integers(0, 1 << component.bits, 2000, np.uint64).astype(component.bits_dtype).view(component.dtype) for _ in range(2)
    )
    with np.errstate(all="ignore"):
        # Numbers near each other, so sums cancel, and products near the ends of the type.
        right = np.where(rng.integers(0, 2, 2000) > 0, left * component.dtype.type(-0.9990234375), right)
        results = ((left + right), (left * right))
    for index in range(2000):
        x, y = float(left[index]), float(right[index])
        if math.isfinite(x) and math.isfinite(y):
            for value, result in ((exact(x) + exact(y), results[0][index]), (exact(x) * exact(y), results[1][index])):
                if value.count:
                    known = rounded(component, value)
                    assert known.nearest == float(result)
                    assert abs(known.inner) <= abs(known.outer)
                    assert known.nearest in (known.inner, known.outer)


def test_neighbours_ties_and_what_is_tiny():
    tie = exact(1.0) + exact(2.0**-11)
    assert rounded(F16, tie) == Rounded(1.0, 1.0 + 2.0**-10, 1.0, False)
    assert rounded(F16, exact(3.0)) == Rounded(3.0, 3.0, 3.0, False)
    half_below = exact(2.0**-14) * exact(1 - 2.0**-11)
    assert rounded(F16, half_below) == Rounded(1023 * 2.0**-24, 2.0**-14, 2.0**-14, True)
    assert not rounded(F32, exact(smallest_normal(F32))).tiny


def test_beyond_the_largest_number_is_infinity():
    assert rounded(F16, exact(65519.0)) == Rounded(65504.0, math.inf, 65504.0, False)
    assert rounded(F16, exact(-65520.0)) == Rounded(-65504.0, -math.inf, -math.inf, False)
    assert rounded(F64, exact(1e308) * exact(-1e308)) == Rounded(-np.finfo(float).max, -math.inf, -math.inf, False)
