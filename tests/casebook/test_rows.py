"""Enumeration, completion and covering arrays of constrained rows, compared with brute force."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.casebook.constraints import ALLOWED, FORBIDDEN, UNASSIGNED, Completion, Constraint, Exclusion, Predicate, Row, rows
from generators.casebook.covering import covering_rows
from generators.errors import CasebookError

Space = tuple[list[list[int]], list[Constraint]]


def _predicate(sizes: list[int], parameters: list[int], modulus: int, early: bool) -> Predicate:
    names = [f"x{parameter}" for parameter in range(len(sizes))]

    def function(values: Any) -> bool:
        total = 0
        for parameter in parameters:
            total += values[names[parameter]] * (parameter + 1)
            if early and total % 5 == 1:
                return True
        return total % modulus != 0

    return Predicate(
        "p", "because", function, {name: parameter for parameter, name in enumerate(names)}, [list(range(size)) for size in sizes]
    )


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    every = range(len(sizes))
    constraints: list[Constraint] = []
    for _ in range(draw(st.integers(0, 3))):
        parameters = draw(st.lists(st.sampled_from(every), min_size=1, max_size=3, unique=True))
        if draw(st.booleans()):
            labels = tuple((parameter, frozenset(draw(st.sets(st.integers(0, sizes[parameter] - 1))))) for parameter in parameters)
            constraints.append(Exclusion(labels, "because"))
        else:
            constraints.append(_predicate(sizes, parameters, draw(st.integers(2, 4)), draw(st.booleans())))
    return [list(range(size)) for size in sizes], constraints


def brute_force(choices: list[list[int]], constraints: list[Constraint]) -> list[tuple[int, ...]]:
    return [row for row in product(*choices) if all(constraint.decide(list(row)) == ALLOWED for constraint in constraints)]


@given(spaces())
def test_rows_are_the_allowed_ones_in_lexicographic_order(space: Space) -> None:
    choices, constraints = space
    assert rows(constraints, choices) == brute_force(choices, constraints)


@given(spaces(), st.data())
def test_a_partial_row_can_be_completed_if_and_only_if_an_allowed_row_contains_it(space: Space, data: st.DataObject) -> None:
    whole, constraints = space
    choices = [sorted(data.draw(st.sets(st.sampled_from(labels), min_size=1))) for labels in whole]
    allowed = brute_force(choices, constraints)
    partial = [data.draw(st.sampled_from([UNASSIGNED, *labels])) for labels in choices]
    contained = any(all(p in (UNASSIGNED, label) for p, label in zip(partial, row, strict=True)) for row in allowed)
    assert Completion(constraints, choices).possible(partial) is contained


def test_an_exclusion_is_decided_by_the_first_parameter_outside_of_it() -> None:
    exclusion = Exclusion(((0, frozenset({1})), (1, frozenset({2}))), "because")
    assert exclusion.decide([0, UNASSIGNED]) == ALLOWED
    assert exclusion.decide([1, UNASSIGNED]) == 1
    assert exclusion.decide([1, 2]) == FORBIDDEN


def test_a_predicate_runs_once_for_the_values_that_it_reads() -> None:
    calls = []

    def function(values: Any) -> bool:
        calls.append(values["a"])
        return bool(values["a"])

    predicate = Predicate("p", "because", function, {"a": 0, "b": 1}, [[0, 1], [0, 1, 2]])
    assert rows([predicate], [[0, 1], [0, 1, 2]]) == [(1, 0), (1, 1), (1, 2)]
    assert sorted(calls) == [0, 1]


def test_a_predicate_that_raises_is_named_with_the_values_it_saw() -> None:
    predicate = Predicate("p", "because", lambda values: values["a"] / 0 > 1, {"a": 0}, [[7]])
    with pytest.raises(CasebookError, match=r"predicate 'p' cannot judge a=7: ZeroDivisionError"):
        predicate.decide([0])


def test_a_parameter_without_choices_leaves_its_constraints_undecided() -> None:
    exclusion = Exclusion(((0, frozenset({0})), (1, frozenset({0}))), "because")
    assert rows([exclusion], [[0, 1], []]) == [(0, UNASSIGNED), (1, UNASSIGNED)]


def test_a_constraint_holds_of_what_is_assigned_to_a_parameter_without_choices() -> None:
    exclusion = Exclusion(((0, frozenset({1})), (1, frozenset({0, 1}))), "because")
    completion = Completion([exclusion], [[], [0, 1]])
    assert completion.possible([0, UNASSIGNED])
    assert not completion.possible([1, UNASSIGNED])


def combinations_of(rows: list[Row], strength: int) -> set[tuple[tuple[int, int], ...]]:
    return {combination for row in rows for combination in combinations(tuple(enumerate(row)), strength)}


@given(spaces(), st.integers(1, 4))
def test_every_allowed_combination_occurs(space: Space, strength: int) -> None:
    choices, constraints = space
    allowed = brute_force(choices, constraints)
    chosen = covering_rows(constraints, choices, strength)
    assert set(chosen) <= set(allowed)
    assert chosen == sorted(set(chosen))
    strength = min(strength, len(choices))
    assert combinations_of(chosen, strength) == combinations_of(allowed, strength)


@given(spaces(), st.integers(0, 3), st.integers(0, 3))
def test_given_rows_stay(space: Space, smaller: int, more: int) -> None:
    choices, constraints = space
    given_rows = covering_rows(constraints, choices, smaller)
    assert set(given_rows) <= set(covering_rows(constraints, choices, smaller + more, given_rows))


def test_strength_0_asks_for_nothing() -> None:
    assert covering_rows([], [[0, 1], [0, 1]], 0) == []


def test_as_many_free_parameters_as_the_strength_give_the_whole_product() -> None:
    assert covering_rows([], [[0, 1], [5], [0, 1, 2]], 2) == [(a, 5, b) for a in (0, 1) for b in (0, 1, 2)]


def test_an_array_is_much_smaller_than_its_product() -> None:
    choices = [list(range(4))] * 8
    excluded = [Exclusion(((0, frozenset({1})), (7, frozenset({0, 2}))), "because")]
    chosen = covering_rows(excluded, choices, 2)
    assert 16 <= len(chosen) <= 40


_SCRIPT = """
from generators.casebook.constraints import Exclusion
from generators.casebook.covering import covering_rows
print(covering_rows([Exclusion(((0, frozenset({1})), (3, frozenset({0, 2}))), "")], [list(range(n)) for n in (3, 4, 5, 4, 2)], 3))
"""


def test_the_rows_do_not_depend_on_hash_randomisation() -> None:
    root = Path(__file__).parents[2]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(outputs) == 1
