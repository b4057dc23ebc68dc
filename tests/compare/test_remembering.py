"""Evaluations of one subcase perform an operation only once for the same operands, and give the same results as without that."""

from __future__ import annotations

import numpy as np
import pytest

from cts.defects.defect import Defect
from cts.defects.evaluation import UNKNOWN, evaluate_defect
from cts.defects.known import known_defects
from cts.defects.remembering import Remembered
from cts.defects.single_edits.of_program import single_edits
from cts.diagnosis.shown import Prepared, changes, prepared
from cts.reference.evaluate import outcome, perform
from cts.reference.state import State, initial_state
from cts.verdict.expected import Expected
from generators.casebook import build, find_case
from generators.program.operation import Operation
from generators.program.walking import results
from tests.suite import casebook

CASES = (
    "muladd[row:8x16x16.f16.f16.f32.f32/data:exact]",
    "per_element[component:f16/function:scale]",
    "tensor_layout[component:s64/use:a/shape:32x16/rank:1]",
    "workgroup_blocks[component:f32/read:f32/shape:16x16]",
    "vector_load_store[component:f16/invocations:33/order:backward]",
)


def told(expected: Expected) -> list[tuple[str, bytes, bytes]]:
    return [(placed.array, placed.offsets.tobytes(), placed.expected.bits.tobytes()) for placed in expected.placed]


@pytest.mark.parametrize("name", CASES)
def test_the_results_are_the_same(name: str) -> None:
    case = find_case(casebook(), name)
    program, subcase, *_ = next(prepared(case, build(case).program))
    remembered = Remembered()
    same = 0
    for edit in list(single_edits(program))[::7]:
        with np.errstate(all="ignore"):
            try:
                alone = told(evaluate_defect(program, subcase, edit.substitutes))
            except UNKNOWN as error:
                with pytest.raises(type(error)):
                    evaluate_defect(program, subcase, edit.substitutes, remembered=remembered)
                continue
            assert told(evaluate_defect(program, subcase, edit.substitutes, remembered=remembered)) == alone, edit.text
        same += 1
    assert same > 5


def shown(defect: Defect, at: Prepared) -> bool | None:
    try:
        return changes(defect, at)
    except UNKNOWN:
        return None


def test_a_defect_of_a_whole_loop_changes_nothing_for_the_next_defect() -> None:
    case = find_case(casebook(), "control_flow[row:8x8x8.f16.f16.f32.f32/form:branch_in_loop/source:literal]")
    at = next(prepared(case, build(case).program))
    defects = list(known_defects(at.program))
    loops = [defect for defect in defects if defect.id.endswith(("_in_first_iteration", "_of_last_iteration"))]
    assert loops
    for defect in (*loops, *defects[::20]):
        assert shown(defect, at) == shown(defect, at._replace(remembered=Remembered())), defect.id


def test_an_operation_is_performed_once_for_the_same_operands() -> None:
    case = find_case(casebook(), CASES[0])
    program, subcase, *_ = next(prepared(case, build(case).program))
    remembered = Remembered()
    performed: list[Operation] = []

    def counted(state: State, operation: Operation) -> None:
        performed.append(operation)
        perform(state, operation)

    counts = []
    for _ in range(2):
        outcome(initial_state(program, subcase, remembered.performing(counted, (), None)))
        counts.append(len(performed))
        performed.clear()
    stores = sum(not any(results(operation)) for operation in program.operations)
    assert counts[0] == len(program.operations)
    assert counts[1] == stores
