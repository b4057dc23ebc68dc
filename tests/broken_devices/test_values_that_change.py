"""Devices on which a value changes later: a loaded matrix is the variable itself, or an insertion changes its operand."""

from __future__ import annotations

import pytest

from cts.embedded.faults import Faults
from cts.embedded.types.spirv_types import MatrixType
from cts.verdict.verdict import Verdict
from generators.spirv.enumerants import Op
from tests.broken_devices.doubles import Broken, judged, verdict_on

SWAP = "control_flow_variables[row:8x8x8.s8.s8.s32.s32/subgroups:2/form:swap/storage:private/source:buffer/hint:against]"
EXCHANGE = "aggregates[row:8x8x8.f16.f16.f32.f32/count:2/storage:private/write:operand/read:operand/move:exchange]"

INSERTIONS = [
    "elements[row:8x8x8.f16.f16.f32.f32/leading:1/leading_form:composite/operand:buffer]",
    "aggregates[row:8x8x8.f16.f16.f32.f32/other_storage:private/write:operand/read:loop/move:insert]",
]


def aliasing() -> Faults:
    """Build a device that repeats the loads of matrices after each store. Mesa's lavapipe does this."""
    loads = []

    def noting(load):
        def handler(translation, words):
            run = load(translation, words)
            if isinstance(translation.types[words[0]], MatrixType):
                loads.append((words[1], run))
            return run

        return handler

    def loading_again(store):
        def handler(translation, words):
            run, values = store(translation, words), translation.values

            def both():
                run()
                for result, again in loads:
                    if values[result] is not None:
                        values[result] = again()

            return both

        return handler

    return Faults({Op.Load: noting, Op.Store: loading_again})


def changing_its_operand(insert):
    """Make an insertion overwrite its composite operand with the result."""

    def handler(translation, words):
        run, values = insert(translation, words), translation.values

        def changing():
            values[words[3]] = run()
            return values[words[3]]

        return changing

    return handler


@pytest.mark.parametrize("case_id", [SWAP, EXCHANGE], ids=["swap", "exchange"])
def test_a_loaded_matrix_that_changes_with_the_next_store(case_id):
    result = judged(case_id, Broken(faults=aliasing()))
    assert result.verdict is Verdict.FAIL
    assert "variable.load_not_copied" in [match.id for match in result.failures[0].matches]


@pytest.mark.parametrize("case_id", INSERTIONS, ids=["component", "matrix"])
def test_a_composite_that_an_insertion_changes(case_id):
    assert verdict_on(case_id, Broken()) is Verdict.PASS
    assert verdict_on(case_id, Broken(faults=Faults({Op.CompositeInsert: changing_its_operand}))) is Verdict.FAIL
