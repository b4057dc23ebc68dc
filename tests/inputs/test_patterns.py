import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.inputs import elementwise
from generators.inputs.patterns import extreme_bits, finite_bits, index_coded, random_bits
from generators.types import COMPONENT_TYPES, ComponentType

COMPONENTS = list(COMPONENT_TYPES.values())
FLOATS = [c for c in COMPONENTS if c.is_float]


def is_preserved(bits: np.ndarray, component: ComponentType) -> bool:
    """Return whether a bit-preserving move must keep every pattern without float controls."""
    values = bits.view(component.dtype).astype(np.float64)
    return bool(np.isfinite(values).all() and not ((values == 0) & np.signbit(values)).any())


@pytest.mark.parametrize("component", COMPONENTS, ids=str)
def test_index_codes_name_every_position(component):
    count = 48_000
    low, high = index_coded(component, count), index_coded(component, count, half=1)
    named = low if component.bits > 8 else low.astype(np.uint32) << 8 | high
    assert len(np.unique(named)) == count


@pytest.mark.parametrize("component", COMPONENTS, ids=str)
@pytest.mark.parametrize("distance", [1, 2, 8, 16, 64, 256, 1024, 4096])
def test_index_codes_show_a_shift_by_any_power_of_two(component, distance):
    codes = index_coded(component, 2 * distance + 16)
    assert (codes[distance:] != codes[:-distance]).all()


@pytest.mark.parametrize("component", FLOATS, ids=str)
@given(seed=st.integers(0, 1 << 32), count=st.integers(1, 300))
def test_float_patterns_hold_only_what_a_move_must_preserve(component, seed, count):
    rng = np.random.default_rng(seed)
    for bits in (index_coded(component, count), random_bits(component, count, rng), extreme_bits(component, count)):
        assert is_preserved(bits, component)


@pytest.mark.parametrize("component", FLOATS, ids=str)
def test_extremes_include_denormals_and_the_largest_values_of_both_signs(component):
    values = extreme_bits(component, 13).view(component.dtype).astype(np.float64)
    hidden = 1 << (component.precision - 1)
    smallest_normal = np.array([hidden], component.bits_dtype).view(component.dtype).astype(np.float64)[0]
    assert (np.abs(values[values != 0]) > 0).any()
    assert (np.abs(values[values != 0]) < smallest_normal).sum() == 4
    assert values.max() == -values.min()


@pytest.mark.parametrize("component", [c for c in COMPONENTS if not c.is_float], ids=str)
def test_extremes_of_integers_reach_both_ends(component):
    values = extreme_bits(component, 13).view(component.dtype)
    assert values.max() == np.iinfo(component.dtype).max
    assert values.min() == np.iinfo(component.dtype).min


def test_finite_bits_leave_out_minus_zero_and_what_is_not_finite():
    assert len(finite_bits(COMPONENT_TYPES["e4m3"])) == 256 - 2 - 1
    assert len(finite_bits(COMPONENT_TYPES["e5m2"])) == 256 - 8 - 1
    assert len(finite_bits(COMPONENT_TYPES["u8"])) == 256


@pytest.mark.parametrize("component", COMPONENTS, ids=str)
def test_scalars_are_drawn_alike_one_by_one_and_together(component):
    one, all_ = (np.random.default_rng(3) for _ in range(2))
    together = elementwise.scalars(component, 20, all_).view(component.bits_dtype).tolist()
    assert [elementwise.scalar(component, one) for _ in range(20)] == together
    assert one.bit_generator.state == all_.bit_generator.state
