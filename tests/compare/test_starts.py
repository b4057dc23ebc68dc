"""An evaluation that begins before the first wrong operation has the same outcome as one that begins with the first operation; and
mistakes that make the same of the right operands have one effect.
"""

from __future__ import annotations

import pytest

from cts.defects.evaluation import UNKNOWN, evaluate_defect, traced
from cts.defects.single_edits.of_program import single_edits
from cts.diagnosis.alike import told_together
from cts.diagnosis.diagnose import Search
from cts.diagnosis.effects import Effects
from cts.diagnosis.ran import Ran
from cts.diagnosis.shown import outcome_of, prepared
from cts.verdict.expected import Expected, Placed
from generators.casebook import build, find_case
from tests.suite import casebook

CASES = (
    "aggregates[row:16x16x16.f16.f16.f32.f32/holder:array_of_array/write:operand/move:load_store]",
    "specialization_length[component:s8/neighbour_length:literal]",
    "vector_variables[component:f16/holder:array_of_struct/count:4/write:operand/read:operand/source:specialization]",
)
SAMPLE = 29
"""Each edit with such a distance from the one before is evaluated."""


def told(expected: Expected) -> list[tuple[str, bytes, bytes]]:
    return [(one.array, one.offsets.tobytes(), one.expected.bits.tobytes()) for one in expected.placed]


@pytest.mark.parametrize("name", CASES)
def test_an_evaluation_may_begin_before_the_first_wrong_operation(name: str) -> None:
    case = find_case(casebook(), name)
    program, subcase, *_ = next(prepared(case, build(case).program))
    starts = traced(program, subcase).starts
    begun = 0
    for edit in list(single_edits(program))[::SAMPLE]:
        try:
            whole = told(evaluate_defect(program, subcase, edit.substitutes))
        except UNKNOWN:
            with pytest.raises(UNKNOWN):
                evaluate_defect(program, subcase, edit.substitutes, starts=starts)
            continue
        assert told(evaluate_defect(program, subcase, edit.substitutes, starts=starts)) == whole
        begun += starts.place(edit.substitutes) > 0
    assert begun


def test_each_store_of_an_evaluation_is_watched() -> None:
    case = find_case(casebook(), CASES[0])
    program, subcase, *_ = next(prepared(case, build(case).program))
    seen: list[Placed] = []
    expected = evaluate_defect(program, subcase, {}, watch=seen.append)
    assert [one.array for one in seen] == [one.array for one in expected.placed]


def test_mistakes_without_an_effect_on_the_right_operands_have_none_on_the_outcome() -> None:
    case = find_case(casebook(), CASES[2])
    program, subcase, expected, *_ = next(prepared(case, build(case).program))
    effects = Effects(traced(program, subcase))
    idle = [edit for edit in single_edits(program) if (effect := effects.of(edit)) is not None and effect.explains_nothing]
    assert idle
    for edit in idle[::SAMPLE]:
        try:
            outcome = evaluate_defect(program, subcase, edit.substitutes)
        except UNKNOWN:
            continue
        assert told(outcome) == told(expected)


def test_certain_effects_that_are_equal_have_equal_outcomes() -> None:
    case = find_case(casebook(), CASES[2])
    program, subcase, *_ = next(prepared(case, build(case).program))
    effects = Effects(traced(program, subcase))
    outcomes: dict[object, object] = {}
    repeated = 0
    for edit in single_edits(program):
        effect = effects.of(edit)
        if effect is None or effect.explains_nothing or not effect.is_certain or (len(outcomes) > SAMPLE and effect.key not in outcomes):
            continue
        try:
            outcome: object = told(evaluate_defect(program, subcase, edit.substitutes))
        except UNKNOWN as error:
            outcome = type(error)
        repeated += effect.key in outcomes
        assert outcomes.setdefault(effect.key, outcome) == outcome
    assert repeated


@pytest.mark.parametrize("name", ["operands_exchanged", "operand_sibling"])
def test_a_comparison_that_never_holds_is_one_mistake_of_all_loops(name: str) -> None:
    case = find_case(casebook(), "memory[component:f16/form:matrix_to_plain/handover:access]")
    program, subcase, expected, before, _ = next(prepared(case, build(case).program))
    edit = next(one for one in single_edits(program) if one.id.endswith(name) and one.parameters["class"] == "less comparison")
    outcome = outcome_of(program, evaluate_defect(program, subcase, edit.substitutes, watch=lambda _: None), before)
    found = Search(Ran(program, subcase, expected, before, outcome)).run()
    assert any(match.id.startswith("single_edit") and "less comparison" in match.where for match in found)


def test_the_loads_of_all_operands_give_zero() -> None:
    case = find_case(casebook(), "elementwise[component:u32/shape:8x8/operation:chain]")
    program, subcase, expected, before, _ = next(prepared(case, build(case).program))
    edit = next(one for one in single_edits(program) if one.parameters["class"] == "load of an operand")
    outcome = outcome_of(program, evaluate_defect(program, subcase, edit.substitutes), before)
    found = Search(Ran(program, subcase, expected, before, outcome)).run()
    assert (edit.id, edit.where) in [(match.id, match.where) for match in found]


def test_single_edits_of_the_same_instructions_are_told_together() -> None:
    case = find_case(casebook(), CASES[0])
    program = build(case).program
    alike = [one for one in single_edits(program) if one.parameters["class"] == "MatrixLoad"][:3]
    sentence = told_together(alike)
    assert sentence.startswith(alike[0].text)
    assert len(sentence) < sum(len(one.text) for one in alike)
