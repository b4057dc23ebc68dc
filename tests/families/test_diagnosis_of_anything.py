"""The diagnosis finishes for any outcome, although a known mistake may read values that some scope instances never computed."""

from __future__ import annotations

import numpy as np
import pytest

from cts.diagnosis.diagnose import diagnose
from cts.reference.evaluate import evaluate
from cts.verdict.poison import initial_contents
from generators.casebook import build, find_case
from generators.kernel import Outcome
from tests.suite import casebook


@pytest.mark.parametrize(
    "case_id",
    [
        "aggregates[row:8x8x8.f16.f16.f32.f32/member:b/storage:private/write:loop/source:buffer/move:parts]",
        "control_flow[row:16x8x16.f16.f16.f32.f32/subgroups:4/form:exchange/source:subgroup]",
    ],
)
def test_an_outcome_that_nothing_explains_is_diagnosed(case_id):
    case = find_case(casebook(), case_id)
    built = build(case)
    program = built.program
    subcase = built.subcases()[0]
    expected = evaluate(program, subcase)
    before = initial_contents(program, subcase, expected)
    rng = np.random.default_rng(5)
    outputs = {array.name: rng.integers(0, 256, array.bytes, np.uint8) for array in program.arrays if array.role in ("output", "inout")}
    assert isinstance(diagnose(program, subcase, expected, before, Outcome(outputs)), tuple)
