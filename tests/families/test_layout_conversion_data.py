"""Data of layout conversions."""

from __future__ import annotations

import numpy as np
import pytest

from generators.families.nv_cooperative_vector.vector_layout_conversion import _numbers
from generators.numerics.formats import values
from generators.types import COMPONENT_TYPES


@pytest.mark.parametrize("data", ["exact", "ties"])
@pytest.mark.parametrize("component", ["e4m3", "e5m2", "f16", "f32"])
def test_numbers_have_one_zero_on_every_processor(component, data):
    given = COMPONENT_TYPES[component]
    numbers = values(_numbers(given, COMPONENT_TYPES["e4m3"], data, False), given)
    assert not np.signbit(numbers[numbers == 0]).any()
