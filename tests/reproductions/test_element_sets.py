"""Lines of expected elements: each line states the same set as the comparator's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cts.repro.element_sets import lines
from cts.verdict.expected import Exact, Expectation, Expected, Interval, OneOf, Placed, ValueSet, one_set
from generators.errors import NotExpressible
from generators.types import COMPONENT_TYPES

F16, F32, S32, S64 = (COMPONENT_TYPES[name] for name in ("f16", "f32", "s32", "s64"))
ONE, TWO, NAN = 0x3C00, 0x4000, 0x7E00


def bits(value: int, component=F16) -> np.ndarray:
    return np.array([[[value]]], component.bits_dtype)


def line(permitted: ValueSet, expected: ValueSet | None = None, dropped: bool = False) -> str:
    """Return the words for the sets of the only element."""
    expectation = one_set(permitted) if expected is None else Expectation(permitted, expected)
    if dropped:
        expectation = Expectation(permitted, permitted, may_be_dropped=np.ones((1, 1, 1), bool))
    placed = Placed("d", np.array([[[6]]]), expectation, "result")
    only = list(lines(Expected((placed,))))
    assert len(only) == 1
    head = f"d 6 {placed.component.name} 0 0 0 "
    assert only[0].startswith(head)
    return only[0].removeprefix(head)


def test_an_exact_element_has_its_bits():
    assert line(Exact(F16, bits(ONE))) == "3c00"


def test_a_nan_stands_for_all():
    assert line(Exact(F16, bits(NAN))) == "7e00 nan"


def test_a_nan_whose_bits_count_stands_for_itself():
    assert line(Exact(F16, bits(NAN), nan_bits=True)) == "7e00"


def test_a_zero_of_either_sign_is_both():
    assert line(Exact(F16, bits(0), either_zero=True)) == "0000 8000"


def test_a_zero_keeps_its_sign_elsewhere():
    assert line(Exact(F16, bits(0))) == "0000"


def test_alternatives_are_listed_once_each():
    assert line(OneOf(F16, (bits(ONE), bits(TWO), bits(ONE)))) == "3c00 4000"


def test_where_all_bits_are_permitted_it_says_so():
    assert line(OneOf(F16, (bits(ONE),), free=np.ones((1, 1, 1), bool))) == "any"


@given(st.floats(-1e30, 1e30), st.floats(0, 1e30))
def test_the_ends_of_a_range_are_exact(low, width):
    high = low + width
    ends = np.array([[[low]]]), np.array([[[high]]])
    words = line(Interval(F32, bits(0, F32), *ends, center=ends[0]))
    assert [float.fromhex(end) for end in words.split("..")] == [low, high]


def test_a_range_of_integers_of_64_bits_is_refused():
    ends = np.array([[[0]]]), np.array([[[5]]])
    with pytest.raises(NotExpressible):
        line(Interval(S64, bits(1, S64), *ends, center=ends[0], signed=True))


def test_what_is_expected_follows_where_it_is_less():
    both, one = OneOf(F16, (bits(ONE), bits(TWO))), Exact(F16, bits(ONE))
    assert line(both, one) == "3c00 4000; 3c00"


def test_a_store_that_may_be_dropped_says_so():
    assert line(Exact(F16, bits(ONE)), dropped=True) == "3c00 unchanged; 3c00"
