"""Operands under execution modes: arguments of functions, and every pattern of 8-bit floats."""

from __future__ import annotations

import numpy as np
import pytest

from generators.inputs.float_controls import arguments, nan_bits, nan_parts
from generators.numerics.formats import denormals, values
from generators.types import COMPONENT_TYPES

F16, F32 = COMPONENT_TYPES["f16"], COMPONENT_TYPES["f32"]
SHAPE = (32, 8)


def drawn(function, component, pattern):
    bits = arguments(component, function, pattern, SHAPE, np.random.default_rng(3))
    assert {(one.shape, one.dtype) for one in bits} == {(SHAPE, component.bits_dtype)}
    return [values(one, component) for one in bits]


@pytest.mark.parametrize("component", [F16, F32], ids=str)
@pytest.mark.parametrize("function", ["FMin", "FMax", "FClamp", "NMin", "NMax", "NClamp"])
def test_special_arguments_have_all_pairs_of_zeros_infinities_and_numbers(function, component):
    x, y, z = drawn(function, component, "special")
    assert np.isnan(x).any() == (function[0] == "N")
    kinds = {(float(a), float(np.copysign(1, a))) for a in x.ravel() if not np.isnan(a)}
    assert {(0.0, 1.0), (0.0, -1.0), (np.inf, 1.0), (-np.inf, -1.0), (1.5, 1.0), (-1.5, -1.0)} <= kinds or function[0] == "F"
    both_zeros = (x == 0) & (y == 0) & (np.signbit(x) != np.signbit(y))
    assert both_zeros.any()
    if function.endswith("Clamp"):
        assert not (y > z).any()
    if function[0] == "N" and not function.endswith("Clamp"):
        assert (np.isnan(x) & ~np.isnan(y)).any()
        assert (~np.isnan(x) & np.isnan(y)).any()
        assert (np.isnan(x) & np.isnan(y)).any()


@pytest.mark.parametrize("component", [F16, F32], ids=str)
def test_clamps_of_denormals_stay_in_order_if_these_are_flushed(component):
    x, low, high = drawn("NClamp", component, "denormals")
    assert denormals(x, component).any()
    for flush_low in (False, True):
        for flush_high in (False, True):
            least = np.where(flush_low & denormals(low, component), 0.0, low)
            most = np.where(flush_high & denormals(high, component), 0.0, high)
            assert (least <= most).all()


@pytest.mark.parametrize("component", [F16, F32], ids=str)
def test_fma_has_denormal_results_of_normal_arguments(component):
    a, b, c = drawn("Fma", component, "denormals")
    assert not any(denormals(one, component).any() for one in (a, b, c, a * b))
    assert denormals(a * b + c, component).all()
    assert {float(one) for one in np.sign(a * b + c).ravel()} == {-1.0, 1.0}


@pytest.mark.parametrize("name", ["e4m3", "e5m2"])
def test_eight_bits_are_every_pattern(name):
    component = COMPONENT_TYPES[name]
    assert nan_parts(component, 64) == 4
    assert sorted(nan_bits(component, (16, 16), 0, np.random.default_rng(0)).ravel().tolist()) == list(range(256))
