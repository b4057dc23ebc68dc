"""On a device that only compiles, a case whose code lacks a needed load fails, and other differences from twins are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from cts.devices.device import DeviceCrash, compiling
from cts.engine.runner import judge
from cts.engine.tally import Digest, Tally
from cts.verdict.verdict import CaseResult, Verdict
from generators.casebook import build, find_case
from generators.kernel import Kernel
from tests.runner.conftest import Scripted, holding
from tests.suite import casebook
from tests.twins.listing import listing

ROTATED = "aggregates[row:16x16x16.f16.f16.f32.f32/storage:private/write:operand/read:loop/source:literal/move:rotate]"
SWAPPED = "control_flow_variables[row:16x16x16.u8.u8.u32.u32/form:swap/storage:private]"

Texts = Mapping[str, str]


class Lister(Scripted):
    """A device that compiles only, and lists the same texts for each module, or others for a case's own."""

    description = compiling(Scripted.description)

    def __init__(self, own: str, texts: Callable[[bool], Texts]) -> None:
        super().__init__(lambda _: [])
        from cts.kinds.kernel import make_kernels

        (self._own,) = make_kernels(build(find_case(casebook(), own)), "spirv")
        self._texts = texts
        self.last_statistics: dict[str, dict[str, int]] = {}

    def listings(self, kernel: Kernel) -> dict[str, Texts]:
        return {"compute": self._texts(kernel.spirv == self._own.spirv)}


def _judged(id_: str, texts: Callable[[bool], Texts]) -> CaseResult:
    return judge(find_case(casebook(), id_), holding(Lister(id_, texts)), "spirv", "nightly")


def _gfx1201(text: str, intermediate: str = "") -> Texts:
    # The universal profile has subgroups of 32: twice the code is what 64 lanes load.
    return {"Assembly": text, "NIR Shader(s)": intermediate}


def _code(loads: int) -> str:
    load = "\tbuffer_load_b128 v[2:5], v1, s[0:3], null offen ; 0\n"
    return f"BB0:\n{load * loads}\ts_endpgm ; 0\n"


def test_a_case_whose_code_loads_less_than_its_results_need_fails():
    result = _judged(ROTATED, lambda own: _gfx1201(_code(7 if own else 8)))

    assert (result.verdict, result.code) == (Verdict.FAIL, "fail.missing_load")
    assert "3,584" in result.message
    assert "4,096" in result.message


def test_equal_code_that_loads_enough_is_compiled():
    result = _judged(ROTATED, lambda _: _gfx1201(_code(8)))

    assert (result.verdict, result.code) == (Verdict.COMPILED, "")


def test_code_that_both_twins_lack_is_found_too():
    assert _judged(ROTATED, lambda _: _gfx1201(_code(7))).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    "text",
    ["BB0:\n\tglobal_atomic_add_u32 v1, v0, v1, s[0:1] ; 0\n", "BB0:\n\tbuffer_load_b32 v1, v0, s[0:3], 0 ; 0\n\ts_branch BB0 ; 0\n", ""],
)
def test_code_that_a_reader_does_not_understand_proves_nothing(text: str):
    assert (result := _judged(ROTATED, lambda _: _gfx1201(text))).verdict is Verdict.COMPILED
    assert not result.code


def test_code_that_loads_less_than_a_twin_and_enough_is_told():
    result = _judged(ROTATED, lambda own: _gfx1201(_code(8 if own else 9)))

    assert (result.verdict, result.code) == (Verdict.COMPILED, "compiled.otherwise.storage")


def test_code_that_computes_otherwise_than_a_twin_is_told():
    def texts(own: bool) -> Texts:
        # The machine code differs in what a reader does not judge.
        return _gfx1201(_code(8) + ("\tv_nop ; 0\n" if own else ""), listing("nir_swap_private" if own else "nir_swap_function"))

    result = _judged(SWAPPED, texts)

    assert (result.verdict, result.code) == (Verdict.COMPILED, "compiled.otherwise.storage")


def test_code_that_differs_only_in_its_schedule_is_not_told():
    def texts(own: bool) -> Texts:
        return _gfx1201(_code(8) + ("\tv_nop ; 0\n" if own else ""), listing("nir_swap_function"))

    assert not _judged(SWAPPED, texts).code


def test_a_twin_that_crashes_says_nothing_of_the_case():
    def texts(own: bool) -> Texts:
        if not own:
            raise DeviceCrash("died")
        return _gfx1201(_code(8))

    assert (result := _judged(ROTATED, texts)).verdict is Verdict.COMPILED
    assert not result.code


def test_a_device_that_lists_nothing_proves_nothing():
    assert _judged(ROTATED, lambda _: {}).verdict is Verdict.COMPILED


def test_a_run_counts_such_cases_by_what_differs():
    tally = Tally()
    for own in (8, 9, 9):
        tally.add(Digest.of(_judged(ROTATED, lambda is_own, own=own: _gfx1201(_code(own if is_own else 9)))))

    assert tally.otherwise == {"storage": 1}
