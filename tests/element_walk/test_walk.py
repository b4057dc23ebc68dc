"""The way back from one element through a record of the reference model's steps."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from cts.defects.known import known_defects
from cts.defects.single_edits.of_program import single_edits
from cts.element_walk.of_case import lines, subcase_of, suspected, walked
from cts.element_walk.recording import recorded, recorded_defect
from cts.element_walk.steps import NoSuchElement, Place
from cts.element_walk.walk import walk
from cts.reference.evaluate import evaluate
from cts.verdict.elements import words
from cts.verdict.failure import Match
from generators.casebook import find_case
from generators.program.walking import values_read
from tests.suite import casebook

LOOP = "muladd[row:8x8x16.f16.f16.f32.f32/data:exact/form:loop]"
REUSE = "muladd[row:8x8x16.f16.f16.f32.f32/data:exact/form:reuse/layouts:cccc]"
INTEGERS = "muladd[row:16x8x32.s8.s8.s32.s32/data:wrap]"

CASES = (
    LOOP,
    REUSE,
    INTEGERS,
    "muladd[row:16x16x16.f16.f16.f16.f16/data:envelope/form:reuse/layouts:cccc/storage:workgroup]",
    "conversion[from:f32/to:u32/shape:32x16/signs:crossed]",
    "reduce[component:f16/shape:16x16/mode:column/function:add]",
    "tensor_clamp[component:f16/rank:1/mode:undefined/side:inside/outermost:endless/source:specialization]",
    "vector_muladd[row:f16.f16.f16.f16.f16/given:constant]",
    "per_element[component:f16/function:place]",
    "control_flow[row:8x8x8.f16.f16.f32.f32/form:operands]",
    "aggregates[row:8x8x32.u8.u8.u32.u32/member:a/count:5/write:operand/source:literal]",
    "kernel_staged[row:16x16x16.bf16.bf16.f32.f32]",
)


def dispatch(id_, subcase=""):
    return subcase_of(find_case(casebook(), id_), subcase)


def first_place(program, subcase, row, column):
    placed = evaluate(program, subcase).placed[0]
    return Place(placed.array, 0, row, column)


ROUNDABOUT = {
    "array_chain[form:layers/elements:packed/rows:quarter/columns:quarter]": (0, 1),
    "array_conversion[component:f32/width:half/way:extract/elements:packed]": (1, 0),
    "bitcast_arrays[from:f16/to:u32/control:function]": (1, 0),
    "sub_arrays[element:f32/length:16/start:specialization]": (1, 0),
    "plain_shaders[stage:vertex]": (1, 0),
    "vector_composites[component:f16/form:undefined]": (0, 1),
    "vector_float_controls[component:f32/operation:convert/rounding:rte/length:5]": (0, 1),
    "get_coordinate[component:u32/shape:8x8]": (0, 1),
}
"""Cases whose elements go through scalars, arrays of invocations or components, and an element of each."""


@pytest.mark.parametrize("id_", ROUNDABOUT)
def test_the_way_goes_on_through_scalars_and_arrays_to_bytes_in_memory(id_):
    program, subcase = dispatch(id_)
    last = walked(program, subcase, first_place(program, subcase, *ROUNDABOUT[id_])).steps[-1]
    assert any(" byte " in text for text in (*last.sources, *(term.left for term in last.terms)))


def test_an_inserted_component_comes_from_the_component_that_was_extracted():
    program, subcase = dispatch("vector_composites[component:f16/form:undefined]")
    steps = walked(program, subcase, first_place(program, subcase, 0, 1)).steps
    assert {step.value for step in steps} == {steps[0].value}
    assert list(dict.fromkeys(step.what.split(": ")[1] for step in steps[1:])) == ["CompositeInsert", "CompositeExtract"]


def number(text):
    """Return the value in ``0x3c00 (1)``."""
    return float(re.search(r"\(([^()]+)\)$", text).group(1))


@pytest.mark.parametrize("id_", CASES)
def test_a_recorded_dispatch_has_the_results_of_one_that_is_not(id_):
    program, subcase = dispatch(id_)
    _, found = recorded(program, subcase)
    for one, other in zip(found.placed, evaluate(program, subcase).placed, strict=True):
        assert np.array_equal(one.expected.bits, other.expected.bits)


@pytest.mark.parametrize("id_", CASES)
def test_the_way_begins_at_the_store_with_the_expected_value(id_):
    program, subcase = dispatch(id_)
    steps, expected = recorded(program, subcase)
    placed = expected.placed[0]
    found = walk(program, steps, expected, Place(placed.array, 0, 0, 1))
    assert found.steps[0].value == words(int(placed.expected.bits[0, 0, 1]), placed.component)
    assert len(found.steps) > 1
    assert found.steps[1].value == found.steps[0].value


@pytest.mark.parametrize("id_", CASES)
def test_the_way_ends_at_bytes_in_memory_or_at_a_constant(id_):
    program, subcase = dispatch(id_)
    last = walked(program, subcase, first_place(program, subcase, 0, 1)).steps[-1]
    said = [*last.sources, *(term.left for term in last.terms)]
    assert any(" byte " in text for text in said) or "Splat" in last.what or "Constant" in last.what


@pytest.mark.parametrize("id_", [LOOP, REUSE, INTEGERS])
def test_the_last_exact_sum_is_the_value_of_the_element(id_):
    program, subcase = dispatch(id_)
    sums = [step for step in walked(program, subcase, first_place(program, subcase, 3, 5)).steps if step.terms]
    assert sums
    for step in sums:
        assert float(step.terms[-1].total) == pytest.approx(number(step.value), rel=1e-3)


def test_a_term_has_the_bytes_that_its_factors_were_made_from():
    program, subcase = dispatch(REUSE)
    steps = walked(program, subcase, first_place(program, subcase, 0, 1)).steps
    product = next(step for step in steps if step.terms)
    data = subcase.inputs["a"]
    place, raw = re.search(r"\ba byte (\d+): ([0-9a-f ]+) =", product.terms[1].left).groups()
    assert data[int(place) : int(place) + 2].tobytes() == bytes.fromhex(raw)


def test_each_iteration_of_a_loop_is_a_step():
    program, subcase = dispatch(LOOP)
    steps = [step for step in walked(program, subcase, first_place(program, subcase, 0, 1)).steps if step.terms]
    assert len(steps) == 3
    assert [step.terms[0].left.partition(" = ")[2] for step in steps[:2]] == [step.value for step in steps[1:]]


def test_a_suspected_defect_leaves_the_way_at_the_operation_that_it_changes():
    program, subcase = dispatch(REUSE)
    defect = next(one for one in known_defects(program) if "overwritten by the sum" in one.text)
    _, wrong = recorded_defect(program, subcase, defect.substitutes)
    placed = wrong.placed[-1]
    right = evaluate(program, subcase).placed[-1]
    row, column = np.argwhere(placed.expected.bits[0] != right.expected.bits[0])[0].tolist()
    found = walked(program, subcase, Place(placed.array, 0, row, column), Match(defect.id, defect.text, where=defect.where))
    assert found.departure is not None
    assert "MatrixMulAdd" in found.departure.what
    assert found.departure.suspected == words(int(placed.expected.bits[0, row, column]), placed.component)
    assert found.departure.instead
    assert any("suspected defect first changes" in line for line in lines(found, "", defect.text))


def test_a_suspect_that_does_not_end_with_what_came_back_is_left_out():
    program, subcase = dispatch(REUSE)
    defect = next(one for one in known_defects(program) if "overwritten by the sum" in one.text)
    placed, right = recorded_defect(program, subcase, defect.substitutes)[1].placed[-1], evaluate(program, subcase).placed[-1]
    row, column = np.argwhere(placed.expected.bits[0] != right.expected.bits[0])[0].tolist()
    got = words(int(placed.expected.bits[0, row, column]), placed.component)
    match, place = Match(defect.id, defect.text, where=defect.where), Place(placed.array, 0, row, column)
    assert walked(program, subcase, place, match, got).departure is not None
    assert walked(program, subcase, place, match, "another").departure is None


def test_a_single_edit_leaves_the_way_or_stores_the_element_nowhere():
    program, subcase = dispatch(REUSE)
    place = first_place(program, subcase, 0, 0)
    departed = 0
    for edit in single_edits(program):
        departed += walked(program, subcase, place, Match(edit.id, edit.text, where=edit.where)).departure is not None
    assert departed > 10


def test_a_suspect_in_another_operation_is_another_defect():
    program, subcase = dispatch(REUSE)
    defect = next(one for one in known_defects(program) if "overwritten by the sum" in one.text)
    place = first_place(program, subcase, 0, 0)
    assert walked(program, subcase, place, Match(defect.id, defect.text, where="sum:another")).departure is None


def test_without_a_suspect_nothing_departs():
    program, subcase = dispatch(REUSE)
    assert walked(program, subcase, first_place(program, subcase, 0, 0)).departure is None
    unknown = Match("no.defect", "no such defect")
    assert walked(program, subcase, first_place(program, subcase, 0, 0), unknown).departure is None


def test_one_of_several_defects_that_fit_equally_well_is_not_suspected():
    one, other = Match("a.b", "one"), Match("a.c", "other")
    assert suspected((Match("", "no defect"), one, other)) is one
    assert suspected((replace(one, equal=True), replace(other, equal=True))) is None


def test_an_element_that_is_not_stored_is_refused():
    program, subcase = dispatch(REUSE)
    with pytest.raises(NoSuchElement):
        walked(program, subcase, Place("d1", 0, 99, 0))


def test_a_subcase_has_a_number_and_a_name():
    case = find_case(casebook(), REUSE)
    _, second = subcase_of(case, "1")
    assert subcase_of(case, second.name)[1].name == second.name
    with pytest.raises(NoSuchElement):
        subcase_of(case, "no such subcase")


@pytest.mark.parametrize("id_", CASES)
def test_the_operands_of_a_step_are_in_the_order_in_which_its_operation_names_them(id_):
    steps, _ = recorded(*dispatch(id_))
    for step in steps:
        assert list(step.operands) == list(dict.fromkeys(one.name for one in values_read(step.operation) if one.name in step.operands))
