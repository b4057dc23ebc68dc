"""Poison is a value that an element must not have."""

from __future__ import annotations

import numpy as np
import pytest

from cts.verdict.expected import Exact
from cts.verdict.poison import poison
from generators.types import COMPONENT_TYPES


def _bits(component):
    """Return all bits of a type of up to 16 bits; of a wider one some, with zeros, infinities, NaNs and the least and greatest numbers."""
    kind = component.bits_dtype
    if kind.itemsize <= 2:
        return np.arange(1 << 8 * kind.itemsize, dtype=kind)
    ends = np.array([0, 1, 2], kind)
    sign, exponent = kind.type(1 << component.bits - 1), kind.type((1 << component.bits - 1) - (1 << max(component.precision - 1, 0)))
    some = np.concatenate([ends, exponent + ends, exponent - ends, ~ends, np.random.default_rng(1).integers(0, 1 << 32, 1000).astype(kind)])
    return np.concatenate([some, some ^ sign])


@pytest.mark.parametrize("component", COMPONENT_TYPES.values(), ids=str)
@pytest.mark.parametrize("either_zero", [True, False])
def test_poison_is_no_value_of_an_exact_expectation(component, either_zero):
    allowed = Exact(component, _bits(component), either_zero=either_zero)
    assert not allowed.contains(poison(allowed)).any()
