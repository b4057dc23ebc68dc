"""The data of control_flow_variables show the defects of branches and loops."""

import pytest

from cts.defects.control_flow import branch_defects, loop_defects
from cts.reference.evaluate import evaluate
from generators.casebook import build, expand
from generators.families.khr_cooperative_matrix import control_flow_variables
from generators.spirv import emit as spirv
from generators.spirv.enumerants import Op
from generators.spirv.reader import read_instructions
from tests.families.evidence import RETURN_DEFECTS, chosen, is_seen, parts
from tests.suite import casebook

CASE = "control_flow_variables[row:{}/subgroups:{}/form:{}/source:{}]"
ROWS = ["8x8x8.f16.f16.f32.f32", "16x8x32.s8.s8.s32.s32"]
FORMS = list(control_flow_variables.FORMS)
RETURNS = ["return_in_loop", "return_in_branch"]


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("form", FORMS)
def test_another_way_gives_another_result(row, form):
    program, subcases = parts(CASE.format(row, 1, form, "push_constant"))
    defects = [*branch_defects(program), *loop_defects(program)]
    assert defects
    unseen = {defect.id for defect in defects if not any(is_seen(program, subcase, defect) for subcase in subcases)}
    # A loop that runs at least once under either count cannot show the defect, and small numbers are the same whether signed or unsigned.
    free = {"branch.other_sign", "loop.at_least_once"}
    assert unseen <= free


@pytest.mark.parametrize("form", ["switch", "one_arm", "both_arms", "exchange", *RETURNS])
def test_going_the_way_of_another_scope_instance_is_seen(form):
    program, (subcase,) = parts(CASE.format(ROWS[0], 4, form, "subgroup"))
    defects = chosen(branch_defects(program), "branch.arm_of_first_instance", *RETURN_DEFECTS)
    assert [defect.text for defect in defects if not is_seen(program, subcase, defect)] == []


@pytest.mark.parametrize("form", RETURNS)
def test_a_return_in_a_loop_or_branch_leaves_one_output_alone(form):
    program, subcases = parts(CASE.format(ROWS[0], 1, form, "push_constant"))
    stored = [{placed.array for placed in evaluate(program, subcase).placed} for subcase in subcases]
    assert {"d0"} in stored
    assert {"d1"} in stored
    assert {"d0", "d1"} not in stored


def test_accumulators_are_in_memory_and_no_phi_carries_a_matrix():
    instructions = list(read_instructions(spirv.emit(parts(CASE.format(ROWS[0], 1, "swap", "push_constant"))[0])))
    matrices = {i.operands[0] for i in instructions if i.op is Op.TypeCooperativeMatrixKHR}
    assert not [i for i in instructions if i.op is Op.Phi and i.operands[0] in matrices]


def test_no_case_of_the_smoke_tier_rests_on_a_policy():
    for case in expand(casebook().family("control_flow_variables"), "smoke"):
        built = build(case)
        program = built.program
        for subcase in built.subcases():
            assert not evaluate(program, subcase).notes, f"{case.id} {subcase.name}"
