"""Arithmetic around multiply-adds: every result has one value, which changes if the arithmetic is left out or done elsewhere."""

import numpy as np
import pytest

from cts.defects.defect import every
from cts.defects.elementwise import elementwise_defects
from cts.defects.evaluation import evaluate_defect
from cts.reference.evaluate import evaluate
from cts.reference.values import MatrixValue
from generators.casebook import build, expand, find_case
from generators.program.muladd import MatrixMulAdd
from tests.suite import casebook

CASE = "elementwise_muladd[row:{}/place:{}/operation:{}]"
ROWS = ("8x8x8.f16.f16.f16.f16", "16x16x16.f16.f16.f32.f32", "16x16x32.s8.s8.s32.s32", "8x8x8.u8.u8.u32.u32")


def parts(case_id):
    case = find_case(casebook(), case_id)
    built = build(case, is_placed=False)
    program = built.program
    return program, built.subcases()[0]


def bits(program, subcase, substitutes=None):
    (placed,) = evaluate_defect(program, subcase, substitutes or {}).placed
    return placed.expected.bits


def test_every_case_of_the_smoke_tier_has_one_value_for_each_element():
    for case in expand(casebook().family("elementwise_muladd"), "smoke"):
        built = build(case, is_placed=False)
        program = built.program
        for subcase in built.subcases():
            assert all(placed.expected.KIND == "exact" for placed in evaluate(program, subcase).placed), case.id


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("place", ["a", "b", "c", "result", "between"])
@pytest.mark.parametrize("operation", ["add", "subtract", "multiply", "negate", "times_scalar"])
def test_the_data_show_that_the_arithmetic_is_left_out_or_another(row, place, operation):
    program, subcase = parts(CASE.format(row, place, operation))
    right = bits(program, subcase)
    telling = [
        d
        for d in elementwise_defects(program)
        if d.id == "elementwise.unchanged" or {d.parameters.get("wrong"), d.parameters.get("right")} == {"add", "subtract"}
    ]
    assert telling
    for defect in telling:
        assert (bits(program, subcase, defect.substitutes) != right).mean() > 0.2, defect.text


@pytest.mark.parametrize("operation", ["add", "subtract", "multiply", "times_scalar"])
def test_an_8_bit_operand_wraps_before_it_is_extended(operation):
    """Arithmetic after the extension would keep bits that 8-bit arithmetic loses."""
    program, subcase = parts(CASE.format("16x16x32.s8.s8.s32.s32", "a", operation))
    (muladd,) = every(program.operations, MatrixMulAdd)
    seen = {}

    def step(state, operation):
        wide = {m.name: state.matrices[m.name] for m in (operation.a, operation.b, operation.c)}
        seen.update(wide)
        state.matrices[operation.result.name] = MatrixValue(operation.result.type.component, wide[operation.c.name].bits)

    evaluate_defect(program, subcase, {muladd: step})
    left = loaded(subcase, "a").astype(np.int64)
    other = loaded(subcase, "other").astype(np.int64) if operation != "times_scalar" else -3
    exact = {"add": left + other, "subtract": left - other, "multiply": left * other, "times_scalar": left * other}[operation]
    kept = seen[muladd.a.name].bits[0].view(np.int8)
    assert np.array_equal(kept, exact.astype(np.int8))
    assert (exact != kept).mean() > 0.2


def loaded(subcase, name):
    return subcase.inputs[name].view(np.int8).reshape(16, 32)
