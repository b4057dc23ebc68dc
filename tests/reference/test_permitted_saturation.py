"""The permitted results of a saturating multiply-add: a clamp after each term, or after groups of them, in any order."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cts.reference.muladd import multiply_add
from cts.reference.values import MatrixValue
from cts.verdict.expected import Interval
from generators.errors import Rule
from generators.types import COMPONENT_TYPES, MatrixOperands
from tests.broken_rules import breaks

S8, S32 = COMPONENT_TYPES["s8"], COMPONENT_TYPES["s32"]
SIGNED = MatrixOperands.A_SIGNED | MatrixOperands.B_SIGNED | MatrixOperands.C_SIGNED | MatrixOperands.RESULT_SIGNED
SATURATING = SIGNED | MatrixOperands.SATURATING_ACCUMULATION
LIMIT = 2**31


def matrix(component, numbers) -> MatrixValue:
    return MatrixValue(component, np.array([numbers], component.dtype).view(component.bits_dtype))


def product(a: list[int], b: list[int], c: int | MatrixValue) -> MatrixValue:
    addend = c if isinstance(c, MatrixValue) else matrix(S32, [[c]])
    return multiply_add(matrix(S8, [a]), matrix(S8, [[one] for one in b]), addend, S32, SATURATING)


def clamped(number: int) -> int:
    return max(-LIMIT, min(LIMIT - 1, number))


def permits(value: MatrixValue, number: int) -> bool:
    return bool(value.expectation().permitted.contains(np.array([[[number]]], np.int32).view(np.uint32)).all())


NUMBERS = st.lists(st.integers(-128, 127), min_size=6, max_size=6)


@settings(max_examples=200)
@given(
    a=NUMBERS, b=NUMBERS, distance=st.integers(0, 40_000), end=st.sampled_from([-1, 1]), group=st.integers(1, 4), seed=st.integers(0, 99)
)
def test_clamps_after_groups_of_terms_are_permitted(a, b, distance, end, group, seed):
    start = clamped(end * (LIMIT - distance))
    terms = [x * y for x, y in zip(a, b, strict=True)]
    value = product(a, b, start)
    again = product(a, b, value)
    order = np.random.default_rng(seed).permutation(len(terms))

    def chained(total: int) -> int:
        for first in range(0, len(terms), group):
            total = clamped(total + sum(terms[place] for place in order[first : first + group]))
        return total

    assert permits(value, clamped(start + sum(terms)))
    assert permits(value, chained(start))
    assert permits(again, chained(chained(start)))


def test_where_no_part_of_the_sum_leaves_the_range_there_is_one_value():
    assert product([1, 2], [3, -4], 100).permitted is None


def test_a_result_that_no_clamp_gives_is_not_permitted():
    value = product([100, 100], [100, -100], LIMIT - 1 - 5_000)
    assert isinstance(value.expectation().permitted, Interval)
    assert value.expectation().authority.quality == "F-KHR-12"
    assert permits(value, LIMIT - 1 - 5_000)
    assert permits(value, LIMIT - 1 - 10_000)
    assert not permits(value, LIMIT - 1 - 10_001)
    assert not permits(value, LIMIT - 1)


def test_it_is_blamed_on_no_other_operation():
    value = product([100, 100], [100, -100], LIMIT - 1 - 5_000)
    with breaks(Rule.WIDER_PERMITTED):
        multiply_add(matrix(S8, [[1]]), matrix(S8, [[1]]), value, S32, SIGNED)
