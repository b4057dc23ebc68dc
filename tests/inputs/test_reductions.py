"""Data of reductions."""

from __future__ import annotations

import numpy as np
import pytest

from generators.inputs.reductions import SIGNS, elements_for, summands
from generators.types import COMPONENT_TYPES


@pytest.mark.parametrize("signs", SIGNS)
@pytest.mark.parametrize(("component", "group"), [("e4m3", 256), ("e5m2", 256), ("bf16", 1024), ("f16", 4096)])
def test_summands_that_are_zero_have_no_sign(component, group, signs):
    """No reduction has zeros of both signs (F-CM2-14)."""
    found = summands(COMPONENT_TYPES[component], (2, group), group, signs, np.random.default_rng(1))
    assert (found == 0).any()
    assert not np.signbit(found[found == 0]).any()


@pytest.mark.parametrize("kind", ["add", "multiply", "minimum", "magnitude"])
@pytest.mark.parametrize("component", ["f16", "bf16", "e5m2"])
def test_elements_are_normal_or_plain_zero(component, kind):
    type_ = COMPONENT_TYPES[component]
    found = elements_for(type_, (3, 16, 16), kind, 256, "mixed", np.random.default_rng(2))
    least = 2.0 ** (2 - (1 << (type_.bits - type_.precision - 1)))
    assert ((np.abs(found.astype(np.float64)) >= least) | (found.view(type_.bits_dtype) == 0)).all()
