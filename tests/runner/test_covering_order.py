"""A run with a time limit judges the cases that cover most first."""

from __future__ import annotations

from itertools import combinations_with_replacement

from hypothesis import given
from hypothesis import strategies as st

from cts.engine.covering_order import covering_order

FAMILIES = st.lists(
    st.integers(0, 4).flatmap(lambda width: st.lists(st.tuples(*[st.sampled_from("abc")] * width), min_size=1, max_size=12, unique=True)),
    max_size=3,
)


def pairs(labels):
    return set(combinations_with_replacement(enumerate(labels), 2))


@given(FAMILIES)
def test_every_case_is_there_once(families):
    everything = [(number, case) for number, labels in enumerate(families) for case in range(len(labels))]
    assert sorted(covering_order(families)) == everything


@given(FAMILIES)
def test_no_case_adds_less_than_one_that_its_family_has_later(families):
    order = covering_order(families)
    for number, labels in enumerate(families):
        covered: set[object] = set()
        ahead = [labels[case] for family, case in order if family == number]
        while ahead:
            gains = [len(pairs(one) - covered) for one in ahead]
            assert gains[0] == max(gains)
            covered |= pairs(ahead.pop(0))


def test_each_family_is_begun_before_any_adds_a_small_part():
    small, large = [("a", "b"), ("b", "a")], [(x, y) for x in "abcdefgh" for y in "abcdefgh"]
    assert {number for number, _ in covering_order([large, small])[:3]} == {0, 1}
    assert {case for number, case in covering_order([large, small])[:4] if number == 1} == {0, 1}
