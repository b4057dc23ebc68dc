"""Elements of byte arrays are found and written at any offset, wherever the array itself begins."""

from __future__ import annotations

import numpy as np
import pytest

from cts.verdict.elements import gather, scatter
from cts.verdict.failure import WrongElement
from generators.types import COMPONENT_TYPES

F32 = COMPONENT_TYPES["f32"]


@pytest.mark.parametrize("start", [0, 1, 2])
@pytest.mark.parametrize("offset", [0, 1, 4, 6])
def test_an_element_has_its_bytes(start, offset):
    contents = np.arange(start + 16, dtype=np.uint8)[start:]
    found = gather(contents, np.array([[offset]]), F32)
    assert found.tolist() == [[int.from_bytes(contents[offset : offset + 4].tobytes(), "little")]]


@pytest.mark.parametrize("start", [0, 1, 2])
@pytest.mark.parametrize("offset", [0, 1, 4, 6])
def test_only_the_bytes_of_an_element_are_written(start, offset):
    contents = np.zeros(start + 16, np.uint8)[start:]
    scatter(contents, np.array([offset]), np.array([0x04030201], np.uint32))
    assert contents.tolist() == [0] * offset + [1, 2, 3, 4] + [0] * (12 - offset)


def test_an_element_that_was_not_written_shows_no_value():
    element = WrongElement(0, 1, 2, 4, "f16", 0x3C00, 1.0, 0xC3FF, -3.998)
    assert element.described("not written") == "expected 0x3c00 (1), not written"
    assert element.described("wrong value").startswith("expected 0x3c00 (1), got 0xc3ff ")
