"""The data of function_pointers show the defects of calls, branches and loops."""

import pytest

from cts.defects.calls import call_defects
from cts.defects.control_flow import branch_defects, loop_defects
from cts.reference.evaluate import evaluate
from generators.casebook import build, expand
from generators.families.khr_cooperative_matrix import function_pointers
from generators.glsl import emit as glsl
from generators.spirv import emit as spirv
from generators.spirv.enumerants import Op
from generators.spirv.reader import read_instructions
from tests.families.evidence import RETURN_DEFECTS, chosen, is_seen, parts
from tests.suite import casebook

CASE = "function_pointers[row:{}/form:{}]"
ROWS = ["8x8x8.f16.f16.f32.f32", "16x8x32.s8.s8.s32.s32"]
FORMS = list(function_pointers.FORMS)
INITIALIZED = ["own_null", "own_constant"]


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("form", FORMS)
def test_arguments_that_change_places_and_lost_writes_are_seen(row, form):
    program, subcases = parts(CASE.format(row, form))
    defects = [*call_defects(program), *branch_defects(program), *loop_defects(program)]
    unseen = {defect.id for defect in defects if not any(is_seen(program, subcase, defect) for subcase in subcases)}
    # Variables that are not read after a call may be overwritten, and variables that are written first do not reveal their previous values.
    free = {"call.result_overwrites_argument", "branch.other_sign"} | (set() if form in INITIALIZED else {"call.variables_kept"})
    # A count of 2 never reveals a loop that runs at least once.
    free.add("loop.at_least_once")
    if form in ("with_loop", "own_loop"):
        free |= {"loop.index_stuck", "loop.index_from_one"}
    if form in INITIALIZED:
        free.add("loop.not_carried")
    assert unseen <= free


@pytest.mark.parametrize("form", ["in_branch", "early", "with_loop", "own", "own_both_arms"])
def test_going_the_way_of_the_first_scope_instance_is_seen(form):
    program, (subcase,) = parts(f"function_pointers[row:{ROWS[0]}/subgroups:4/form:{form}/source:subgroup]")
    defects = chosen(branch_defects(program), "branch.arm_of_first_instance", *RETURN_DEFECTS)
    assert [defect.text for defect in defects if not is_seen(program, subcase, defect)] == []


def test_every_form_with_pointers_would_show_a_function_that_writes_to_copies():
    for form in ("out", "inout", "exchange", "order", "advance", "nested", "array", "in_loop", "in_branch", "early", "with_loop"):
        program, _ = parts(CASE.format(ROWS[0], form))
        assert chosen(call_defects(program), "call.argument_copied"), form


def test_no_case_of_the_smoke_tier_rests_on_a_policy():
    for case in expand(casebook().family("function_pointers"), "smoke"):
        built = build(case)
        program = built.program
        for subcase in built.subcases():
            assert not evaluate(program, subcase).notes, f"{case.id} {subcase.name}"


@pytest.mark.parametrize("storage", ["function", "private"])
def test_the_callers_variables_themselves_are_arguments(storage):
    program, _ = parts(f"function_pointers[row:{ROWS[0]}/form:exchange/storage:{storage}]")
    instructions = list(read_instructions(spirv.emit(program)))
    variables = {i.operands[1] for i in instructions if i.op is Op.Variable}
    calls = [i.operands[3:] for i in instructions if i.op is Op.FunctionCall]
    assert len(calls) == 3
    assert all(len(set(arguments) & variables) == 2 for arguments in calls)


def test_glsl_says_what_a_function_does_with_a_parameter():
    text = glsl.emit(parts(CASE.format(ROWS[0], "out"))[0])
    assert text.count("(out coopmat<") == 1
    assert ", out coopmat<" in text
