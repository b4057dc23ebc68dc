"""OpCooperativeMatrixReduceNV: the combined elements, their order, and reductions that break rules."""

from __future__ import annotations

import numpy as np
import pytest

from cts.embedded.instructions.matrices.reduce import schedule
from cts.embedded.machine.elements import MAPPINGS
from tests.embedded.assembly import shader, words
from tests.embedded.callbacks import CAPABILITIES, function
from tests.embedded.conftest import run
from tests.embedded.matrices import NUMBERS, SQUARE, load, matrix, store

COMBINE = {
    "sum": "%s = OpIAdd %u32 %a %b\nOpReturnValue %s",
    "first of both, twice": "%t = OpIMul %u32 %a %u32_3\n%s = OpIAdd %u32 %t %b\nOpReturnValue %s",
}


def reduction(
    mode: str, combine: str, rows: int, columns: int, result_rows: int, result_columns: int, component: str = "u32", use: int = 2
) -> bytes:
    combined = function(combine, f"{component}:a {component}:b", result=component, first="")
    types = matrix("m_type", component, rows, columns, 2)
    same = (rows, columns, 2) == (result_rows, result_columns, use)
    types += "" if same else matrix("r_type", component, result_rows, result_columns, use)
    body = load("m_type", stride=f"%u32_{columns}")
    body += f"%r = OpCooperativeMatrixReduceEXT %{'m' if same else 'r'}_type %m {mode} %f\n"
    body += store("r", stride=f"%u32_{result_columns}")
    return shader(body, types, functions=combined, capabilities=CAPABILITIES, buffer_type=component)


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize(
    ("mode", "to", "axes"), [("Row", (6, 8), (1,)), ("Column", (5, 4), (0,)), ("Row|Column", (2, 8), (0, 1)), ("2x2", (3, 2), None)]
)
def test_each_element_is_combined_once(mapping, mode, to, axes) -> None:
    rows, columns = 6, 4
    numbers = np.array([1 << i for i in range(24)], np.uint32).reshape(rows, columns)
    got = run(reduction(mode, COMBINE["sum"], rows, columns, *to), numbers.view(np.uint8).ravel(), 256, mapping=mapping)
    found = got.outputs["output"].view(np.uint32)[: to[0] * to[1]].reshape(to)
    squares = numbers.reshape(3, 2, 2, 2).sum(axis=(1, 3))
    want = squares if axes is None else np.broadcast_to(numbers.sum(axis=axes, keepdims=True), to)
    assert found.tolist() == want.tolist()


def test_mappings_combine_in_different_orders() -> None:
    numbers = np.arange(1, 65, dtype=np.uint32)
    module = reduction("Row|Column", COMBINE["first of both, twice"], 8, 8, 4, 4)
    found = {m: run(module, numbers.view(np.uint8), mapping=m).outputs["output"].view(np.uint32).tolist() for m in MAPPINGS}
    assert all(len(set(values)) == 1 for values in found.values()), "all elements of a group are equal"
    assert len({values[0] for values in found.values()}) == len(MAPPINGS)


def test_a_single_element_is_its_own_combination() -> None:
    numbers = np.arange(4, dtype=np.uint32)
    got = run(reduction("Row", "OpUnreachable", 4, 1, 4, 2), numbers.view(np.uint8), 32).outputs["output"].view(np.uint32)
    assert got.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_each_subgroup_reduces_its_own_matrix(result) -> None:
    combined = function(COMBINE["sum"], "u32:a u32:b", first="")
    body = (
        "%at = OpIMul %u32 %subgroup %u32_16\n"
        + load("square", at="%at")
        + "%r = OpCooperativeMatrixReduceEXT %square %m Row %f\n"
        + store("r", at="%at")
    )
    got = result(shader(body, SQUARE, functions=combined, capabilities=CAPABILITIES), words(*range(32)), 128, subgroups=2)
    assert got.reshape(8, 4).tolist() == [[16 * r + 6] * 4 for r in range(8)]


@pytest.mark.parametrize("mode", [1, 2, 3, 4])
@pytest.mark.parametrize("mapping", MAPPINGS)
def test_a_schedule_uses_each_value_once(mapping, mode) -> None:
    plan = schedule(mapping, 6, 10, 8, mode)
    used = np.concatenate([*(np.concatenate(step) for step in plan.steps), plan.totals])
    assert sorted(used.tolist()) == list(range(60 + sum(left.size for left, _ in plan.steps)))


def test_an_undefined_matrix_is_not_reduced(forbidden) -> None:
    combined = function(COMBINE["sum"], "u32:a u32:b", first="")
    body = "%none = OpUndef %square\n%m = OpCompositeInsert %square %u32_7 %none 0\n%r = OpCooperativeMatrixReduceEXT %square %m Row %f\n"
    assert "an undefined matrix is reduced" in str(forbidden(shader(body, SQUARE, functions=combined, capabilities=CAPABILITIES)))


WRONG = {
    "another sign": (("Row", COMBINE["sum"], 4, 4, 4, 4), {}, "%s32 ", "CM2-RED-01"),
    "use A": (("Row", COMBINE["sum"], 4, 4, 4, 4), {"use": 0}, "", "CM2-RED-01"),
    "no mode": (("0", COMBINE["sum"], 4, 4, 4, 4), {}, "", "CM2-RED-02"),
    "2x2 and Row": (("5", COMBINE["sum"], 4, 4, 2, 2), {}, "", "CM2-RED-02"),
    "an unknown bit": (("9", COMBINE["sum"], 4, 4, 4, 4), {}, "", "CM2-RED-02"),
    "2x2 without half the columns": (("2x2", COMBINE["sum"], 4, 4, 2, 4), {}, "", "CM2-RED-03"),
    "other rows": (("Row", COMBINE["sum"], 4, 4, 2, 4), {}, "", "CM2-RED-04"),
    "other columns": (("Column", COMBINE["sum"], 4, 4, 4, 2), {}, "", "CM2-RED-05"),
    "a barrier": (("Row", "OpControlBarrier %u32_2 %u32_2 %u32_264\nOpReturnValue %a", 4, 4, 4, 4), {}, "", "CM2-TGL-02"),
    "an undefined combination": (("Row", "%u = OpUndef %u32\nOpReturnValue %u", 4, 4, 4, 4), {}, "", "SPIR-V 3.3.1 OpUndef"),
    "an invocation's number": (("Row", "%v = OpLoad %u32 %gl_LocalInvocationIndex\nOpReturnValue %v", 4, 4, 4, 4), {}, "", "F-CM2-10"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_rule_of_reductions_stops(forbidden, what) -> None:
    arguments, options, component, rule = WRONG[what]
    if component:
        combined = function(COMBINE["sum"], "u32:a u32:b", first="")
        types = SQUARE + matrix("other", "s32", 4, 4, 2)
        body = load("square") + "%r = OpCooperativeMatrixReduceEXT %other %m Row %f\n"
        module = shader(body, types, functions=combined, capabilities=CAPABILITIES)
    else:
        module = reduction(*arguments, **options)  # type: ignore[arg-type]
    assert forbidden(module, NUMBERS).rule == rule


@pytest.mark.parametrize(
    "combined",
    [
        function("OpReturnValue %a", "u32:a", first=""),
        function("OpReturnValue %a", "u32:a s32:b", first=""),
        function("OpReturnValue %s32_0", "u32:a u32:b", result="s32", first=""),
        "%f = OpConstant %u32 1",
    ],
)
def test_a_combination_takes_two_components_and_returns_one(forbidden, combined) -> None:
    body = load("square") + "%r = OpCooperativeMatrixReduceEXT %square %m Row %f\n"
    assert forbidden(shader(body, SQUARE, functions=combined, capabilities=CAPABILITIES), NUMBERS).rule == "CM2-RED-07"
