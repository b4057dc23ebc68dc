"""The data of functions show the defects of calls and branches."""

import pytest

from cts.defects.calls import call_defects
from cts.defects.control_flow import branch_defects
from cts.reference.evaluate import evaluate
from generators.casebook import build, expand
from generators.glsl import emit as glsl
from generators.spirv import emit as spirv
from generators.spirv.enumerants import Op
from generators.spirv.reader import read_instructions
from tests.families.evidence import RETURN_DEFECTS, chosen, is_seen, parts
from tests.suite import casebook

CASE = "functions[row:{}/form:{}]"
ROWS = ["8x8x8.f16.f16.f32.f32", "16x8x32.s8.s8.s32.s32"]
FORMS = ["product", "same_types", "unused", "twice", "nested", "memory", "in_loop", "in_branch", "with_loop", "with_branch"]
RETURNS = ["return_early", "return_in_branch", "return_in_loop", "return_both", "return_dead"]


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("form", [*FORMS, *RETURNS])
def test_arguments_that_change_places_and_lost_results_are_seen(row, form):
    program, subcases = parts(CASE.format(row, form))
    defects = [*call_defects(program), *branch_defects(program)]
    assert defects
    unseen = {defect.id for defect in defects if not any(is_seen(program, subcase, defect) for subcase in subcases)}
    # Variables that are not read after a call may be overwritten, and small numbers are the same whether signed or unsigned.
    assert unseen <= {"call.result_overwrites_argument", "branch.other_sign"}


@pytest.mark.parametrize("row", ROWS)
def test_an_argument_that_is_used_after_the_call_must_not_have_changed(row):
    program, subcases = parts(CASE.format(row, "twice"))
    overwriting = chosen(call_defects(program), "call.result_overwrites_argument")
    assert any(is_seen(program, subcases[0], defect) for defect in overwriting)


@pytest.mark.parametrize("source", ["workgroup", "subgroup"])
@pytest.mark.parametrize("form", RETURNS)
def test_returning_as_another_scope_instance_does_is_seen(form, source):
    counts = "subgroups:4" if source == "subgroup" else "workgroups:4"
    program, (subcase,) = parts(f"functions[row:{ROWS[0]}/{counts}/form:{form}/source:{source}]")
    defects = chosen(branch_defects(program), *RETURN_DEFECTS)
    assert defects
    assert [defect.text for defect in defects if not is_seen(program, subcase, defect)] == []


def test_no_case_of_the_smoke_tier_rests_on_a_policy():
    for case in expand(casebook().family("functions"), "smoke"):
        built = build(case)
        program = built.program
        for subcase in built.subcases():
            assert not evaluate(program, subcase).notes, f"{case.id} {subcase.name}"


def test_a_function_is_written_once_and_before_the_functions_that_call_it():
    program, _ = parts(CASE.format(ROWS[0], "nested"))
    text = glsl.emit(program)
    heads = [line for line in text.splitlines() if line.endswith(") {") and not line.startswith((" ", "void main"))]
    heads = [line.split("(")[0].split()[-1] for line in heads]
    assert [head.split("_")[0] for head in heads] == ["multiply", "middle", "outer"]


def test_matrices_are_passed_by_value():
    program, _ = parts(CASE.format(ROWS[0], "product"))
    instructions = list(read_instructions(spirv.emit(program)))
    matrices = {i.operands[0] for i in instructions if i.op is Op.TypeCooperativeMatrixKHR}
    parameters = [i.operands[0] for i in instructions if i.op is Op.FunctionParameter]
    assert len(parameters) == 3
    assert set(parameters) <= matrices
