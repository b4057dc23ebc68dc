"""Boxes over parameters: how they are read from labels, found, and described."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cts.verdict.verdict import Verdict
from reports.causes.axes import Axis, values
from reports.causes.boxes import Between, Divisible, Inside, OneOf, phrase
from reports.causes.explanations import explained
from reports.causes.search import boxes
from reports.causes.sentences import decided
from reports.causes.table import Table

# Axes


@pytest.mark.parametrize(
    ("labels", "part", "expected"),
    [
        (["16x8x32.s8.s8.s32.s32", "8x8x8.f16.f16.f32.f32"], "K", {"16x8x32.s8.s8.s32.s32": "32", "8x8x8.f16.f16.f32.f32": "8"}),
        (["16x8x32.s8.s8.s32.s32", "8x8x8.f16.f16.f32.f32"], "Result", {"16x8x32.s8.s8.s32.s32": "s32", "8x8x8.f16.f16.f32.f32": "f32"}),
        (["16x8", "8x16"], "columns", {"16x8": "8", "8x16": "16"}),
        (["16x8", "8x4"], "largest size", {"16x8": "16", "8x4": "8"}),
        (["crr", "rrc"], "letter 1", {"crr": "c", "rrc": "r"}),
        (["crrc", "rrrr"], "Result", {"crrc": "c", "rrrr": "r"}),
        (["m256", "n64", "1x1x1"], "number", {"m256": "256", "n64": "64"}),
        (["a-b", "b-c", "c-a-b"], "a anywhere", {"a-b": "yes", "b-c": "no", "c-a-b": "yes"}),
        (["a", "ab", "bc"], "b anywhere", {"a": "no", "ab": "yes", "bc": "yes"}),
    ],
)
def test_parts_of_labels_are_axes(labels, part, expected):
    assert values("p", labels)[Axis("p", part)] == expected


def test_labels_of_one_word_have_no_parts():
    assert list(values("p", ["row", "column"])) == [Axis("p")]


# Words


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (OneOf(Axis("use"), ("a",)), "use:a"),
        (OneOf(Axis("use"), ("a", "b")), "use:a or b"),
        (OneOf(Axis("use"), ("a",), outside=True), "use not a"),
        (OneOf(Axis("row", "A"), ("f16",)), "A of row = f16"),
        (OneOf(Axis("row", "f16 anywhere"), ("yes",)), "f16 in row"),
        (OneOf(Axis("row", "f16 anywhere"), ("no",)), "f16 not in row"),
        (Between(Axis("columns"), 17, None), "columns >= 17"),
        (Between(Axis("row", "K"), None, 8), "K of row <= 8"),
        (Between(Axis("m"), 2, 5), "m from 2 to 5"),
        (Divisible(Axis("m"), 2, outside=True), "m odd"),
        (Divisible(Axis("m"), 8), "m a multiple of 8"),
    ],
)
def test_a_condition_is_described(condition, words):
    assert phrase((condition,)) == words


def test_a_box_says_how_many_fail_and_pass():
    box = (OneOf(Axis("stride"), ("padded",)), OneOf(Axis("use"), ("a",)))
    (sentence,) = decided([Inside("x", box, 12, 0, 0)], 0, Verdict.FAIL, 1)
    assert sentence == "12 of 12 cases with stride:padded and use:a fail; 0 pass"


def test_cases_that_only_compiled_did_not_fail():
    (sentence,) = decided([Inside("x", (), 12, 0, 0)], 0, Verdict.COMPILED, 1)
    assert "fail" not in sentence


# Explanations


@pytest.mark.parametrize(
    ("candidates", "chosen"),
    [
        ([["a"], ["a", "b"], ["b", "a"]], ["a", "a", "a"]),
        ([["a", "b"], ["b", "c"], ["c", "b"]], ["b", "b", "b"]),
        ([["a"], ["b"]], ["a", "b"]),
        ([["x", "a"], ["x", "b"], ["a"], ["b"]], ["a", "b", "a", "b"]),
    ],
)
def test_few_explanations_explain_everything(candidates, chosen):
    assert explained(candidates) == chosen


@given(st.lists(st.sets(st.sampled_from("abcdefg"), min_size=1), min_size=1, max_size=30))
def test_each_failure_has_an_explanation_of_its_own_and_none_is_needless(candidates):
    chosen = explained([sorted(ids) for ids in candidates])
    assert all(one in ids for one, ids in zip(chosen, candidates, strict=True))
    for one in set(chosen):
        assert any(not (set(chosen) - {one}) & ids for ids in candidates)


# Search

SIZES = (8, 12, 16, 17, 24, 32, 48, 64)


@st.composite
def planted(draw):
    """Return the cases of a family, a box of one or two conditions, the cases in the box, and the failing cases: up to one case in 50
    differs."""
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    counts = draw(st.lists(st.integers(2, 6), min_size=3, max_size=12))
    many = draw(st.integers(250, 700))
    columns = {f"p{i}": random.integers(0, count, many) for i, count in enumerate(counts)}
    columns["size"] = random.choice(SIZES, many)
    cases = [{name: str(column[i]) if name == "size" else f"l{column[i]}" for name, column in columns.items()} for i in range(many)]
    name = draw(st.sampled_from([name for name in columns if name != "size"]))
    conditions = [OneOf(Axis(name), (f"l{draw(st.integers(0, 1))}",))]
    if draw(st.booleans()):
        least = draw(st.sampled_from(SIZES[3:6]))
        conditions.append(Between(Axis("size"), least, None))
    inside = np.array([all(one.takes(case[one.axis.parameter]) for one in conditions) for case in cases])
    noise = random.random(many) < draw(st.floats(0, 0.02))
    return cases, tuple(conditions), inside, inside ^ noise


@settings(max_examples=60, deadline=None, derandomize=True)
@given(planted())
def test_a_planted_box_is_found_in_noise(family):
    cases, _, inside, failing = family
    assume(inside.sum() >= 12)
    table = Table(cases)
    first, *_ = boxes(table, failing, ~failing, np.zeros(len(cases), bool))
    found = table.inside(first.box)
    # Noise moves the edges of a box, so the box that is found differs by a few cases, but by no more than the noise changed.
    assert (found ^ inside).sum() <= 0.1 * inside.sum() + (failing ^ inside).sum()
    assert not first.tentative


@settings(max_examples=30, deadline=None, derandomize=True)
@given(planted())
def test_a_planted_box_without_noise_is_found_exactly(family):
    cases, conditions, inside, _ = family
    assume(inside.sum() >= 12)
    table = Table(cases)
    (only,) = boxes(table, inside, ~inside, np.zeros(len(cases), bool))
    assert (table.inside(only.box) == inside).all()
    assert len(only.box) <= len(conditions)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_two_planted_boxes_are_found(seed):
    random = np.random.default_rng(seed)
    cases = [{f"p{i}": f"l{random.integers(0, 4)}" for i in range(8)} for _ in range(600)]
    planted = [np.array([case["p0"] == "l1" and case["p1"] == "l2" for case in cases]), np.array([case["p5"] == "l3" for case in cases])]
    failing = planted[0] | planted[1]
    table = Table(cases)
    found = [table.inside(one.box) for one in boxes(table, failing, ~failing, np.zeros(len(cases), bool))]
    assert (np.logical_or.reduce(found) == failing).all()
    assert len(found) == 2


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.integers(4, 12))
def test_failures_by_chance_have_no_box_that_is_sure(seed, failures):
    random = np.random.default_rng(seed)
    cases = [{f"p{i}": f"l{random.integers(0, 4)}" for i in range(10)} for _ in range(400)]
    failing = np.zeros(len(cases), bool)
    failing[random.choice(len(cases), failures, replace=False)] = True
    assert [one for one in boxes(Table(cases), failing, ~failing, np.zeros(len(cases), bool)) if not one.tentative] == []


def test_a_search_looks_at_a_limited_number_of_cases_and_counts_all():
    cases = [{"n": str(n % 97), "use": "abcd"[n % 4]} for n in range(20_000)]
    failing = np.array([case["use"] == "b" for case in cases])
    (only,) = boxes(Table(cases), failing, ~failing, np.zeros(len(cases), bool))
    assert phrase(only.box) == "use:b"
