"""The diagnosis ends whatever came back: a known mistake may read values that some scope instances never computed."""

from __future__ import annotations

import numpy as np
import pytest

from cts.reference.evaluate import evaluate
from cts.verdict.diagnose import diagnose
from cts.verdict.poison import initial_contents
from generators.casebook import build, find_case
from generators.kernel import Outcome
from tests.suite import casebook


@pytest.mark.parametrize(
    "case_id",
    [
        "aggregates[8x8x8.f16.f16.f32.f32-b-subgroup-1-rr-array-4-literal-private-function-loop-constant-buffer-parts]",
        "control_flow[16x8x16.f16.f16.f32.f32-subgroup-4-1-exchange-less-u32-subgroup-2-none-rrrr-storage_buffer]",
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
