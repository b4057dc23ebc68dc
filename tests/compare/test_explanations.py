"""An explanation states how much of a failure it explains; equally good explanations share one sentence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cts.diagnosis.diagnose import diagnose
from cts.diagnosis.shown import outcome_of, prepared
from cts.verdict.compare import compare
from cts.verdict.elements import gather, scatter
from cts.verdict.expected import Exact, Expected, one_set
from cts.verdict.failure import Match, explanations
from generators.casebook import build, find_case
from tests.suite import casebook

ONE = Match("a.one", "one", explains=3, failing=4)


def test_a_match_says_how_many_failing_elements_it_explains() -> None:
    assert explanations([ONE]) == ("one (3 of 4 failing elements)",)


def test_a_match_of_an_older_journal_says_nothing_about_them() -> None:
    assert explanations([Match("a.one", "one")]) == ("one",)


def test_matches_that_fit_equally_well_are_one_sentence() -> None:
    equal = [Match(f"a.{name}", name, explains=4, failing=4, equal=True) for name in ("one", "two")]
    assert explanations([*equal, ONE]) == (
        "2 that fit equally well: one; or two (4 of 4 failing elements)",
        "one (3 of 4 failing elements)",
    )


def test_a_single_match_that_may_fit_by_chance_does_not_count_others() -> None:
    assert explanations([replace(ONE, equal=True)]) == ("one (3 of 4 failing elements)",)


def _found(kept: int) -> list[str]:
    """Diagnose a device that left ``kept`` of every 8 elements unchanged, although it should have changed all of them in place."""
    case = find_case(casebook(), "elements[row:8x8x8.f16.f16.f32.f32/action:in_place/condition:odd_lane/leading:1/operand:buffer]")
    (program, subcase, expected, before, _), *_ = prepared(case, build(case).program)
    (placed,) = expected.placed
    unchanged = subcase.inputs["source"].view(np.uint32)[: placed.offsets.size].reshape(placed.offsets.shape)
    places = np.arange(placed.offsets.size).reshape(placed.offsets.shape) % 8 < kept
    changed = replace(placed, expectation=one_set(Exact(placed.component, np.where(places, unchanged, placed.expected.bits))))
    outcome = outcome_of(program, Expected((changed,)), before)
    return [match.id for match in diagnose(program, subcase, expected, before, outcome)]


@pytest.mark.parametrize(("kept", "id_"), [(1, "component.last_left"), (7, "component.first_only"), (3, "component.some_left")])
def test_components_that_are_left_as_they_were_are_counted(kept: int, id_: str) -> None:
    assert _found(kept) == [id_]


@pytest.mark.parametrize("count", [1, 5])
def test_dropped_stores_that_are_permitted_are_not_counted_as_failing(count: int) -> None:
    case = find_case(casebook(), "robustness[component:f16/use:acc/shape:8x8/access:store/subgroups:2]")
    (program, subcase, expected, before, _), *_ = prepared(case, build(case).program)
    (placed,) = expected.placed
    dropped = placed.expectation.may_be_dropped
    assert dropped is not None
    outcome = outcome_of(program, expected, before)
    contents = outcome.outputs[placed.array]
    scatter(contents, placed.offsets[dropped], gather(before[placed.array], placed.offsets, placed.component)[dropped])
    assert compare(program, expected, before, outcome) == ()
    others = placed.offsets[~dropped][:count]
    scatter(contents, others, np.zeros(count, np.uint16))
    assert sum(mismatch.count for mismatch in compare(program, expected, before, outcome)) == count
    found = diagnose(program, subcase, expected, before, outcome)
    assert found
    assert {match.failing for match in found} == {count}
    assert all(match.explains <= count for match in found)
