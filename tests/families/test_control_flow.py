"""The data of control_flow show the defects of branches and loops, and none of its cases depends on a policy."""

import pytest

from cts.defects.control_flow import branch_defects, loop_defects
from cts.reference.evaluate import evaluate
from generators.casebook import build, expand
from generators.program.load_store import MatrixStore
from generators.program.walking import flattened
from generators.types import Layout
from tests.families.evidence import is_seen, parts
from tests.suite import casebook

CASE = "control_flow[row:{}/subgroups:{}/workgroups:{}/form:{}/relation:{}/integer:{}/source:{}]"
ROWS = ["8x8x8.f16.f16.f32.f32", "16x8x16.f16.f16.f16.f16", "16x8x32.s8.s8.s32.s32"]


def case_id(row, form, relation="less", source="push_constant", integer="u32"):
    return CASE.format(row, 4 if source == "subgroup" else 1, 4 if source == "workgroup" else 1, form, relation, integer, source)


def unseen(case):
    program, subcases = parts(case)
    defects = [*branch_defects(program), *loop_defects(program)]
    assert defects
    return {defect.id for defect in defects if not any(is_seen(program, subcase, defect) for subcase in subcases)}


SELECTIONS = [
    "operands", "operands_again", "muladd", "epilogue", "exchange", "splat", "store", "store_layout", "load_layout", "address", "nested",
    "return", "switch",
]  # fmt: skip
LOOPS = [
    "loop", "nested_loop", "triangular_loop", "swap", "prefetch", "break", "continue", "break_late", "continue_late", "branch_in_loop",
    "last_iteration", "loop_in_branch",
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("form", SELECTIONS)
def test_another_arm_gives_another_result(row, form):
    assert not unseen(case_id(row, form))


@pytest.mark.parametrize("layouts", ["rrrr", "cccc"])
def test_the_arms_of_store_layout_store_in_both_layouts(layouts):
    program, _ = parts(f"control_flow[row:{ROWS[0]}/form:store_layout/layouts:{layouts}]")
    stores = [operation for operation in flattened(program.operations) if isinstance(operation, MatrixStore)]
    assert {store.layout for store in stores} == set(Layout)


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("form", LOOPS)
def test_another_number_of_iterations_gives_another_result(row, form):
    # A loop that always runs at least once cannot show the defect, and neither can a loop whose first iteration does nothing.
    counted = form in ("loop", "swap", "prefetch", "last_iteration")
    assert unseen(case_id(row, form)) <= (set() if counted else {"loop.at_least_once"})


@pytest.mark.parametrize("source", ["workgroup", "subgroup"])
@pytest.mark.parametrize("form", ["operands", "store", "return", "switch", "address"])
def test_going_the_way_of_the_first_scope_instance_is_seen(form, source):
    assert unseen(case_id(ROWS[0], form, source=source)) <= {"branch.other_sign"}


@pytest.mark.parametrize("relation", ["less", "less_equal", "greater", "greater_equal"])
@pytest.mark.parametrize("integer", ["u32", "s32"])
def test_the_other_signedness_is_seen(relation, integer):
    assert not unseen(case_id(ROWS[2], "operands", relation, integer=integer))


def test_both_arms_run_and_differ_in_every_case_of_the_smoke_tier():
    for case in expand(casebook().family("control_flow"), "smoke"):
        built = build(case)
        program = built.program
        for subcase in built.subcases():
            expected = evaluate(program, subcase)
            assert not expected.notes, f"{case.id} {subcase.name} rests on a policy"
            assert expected.placed, f"{case.id} {subcase.name} stores nothing"
