"""Buffers of gigabytes on the embedded device, which holds only windows of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.kinds.kernel import arrange
from cts.verdict.compare import compare
from generators.casebook import build, find_case
from generators.dispatch import kernel
from generators.spirv.emit import emit
from generators.windows import Windows
from tests.suite import casebook
from tests.undefined import undefined

ACCESSES = ["load", "store", "tensor_load", "tensor_store"]
DEVICE = EmbeddedDevice(load_profile("universal"))


def case_of(access: str, rest: str = ""):
    return build(find_case(casebook(), f"large_buffers[component:f16/access:{access}{rest}]"))


def run(case, program=None, windows=None):
    program = program or case.program
    one = kernel(program, emit(program))
    if windows is not None:
        one = replace(one, buffers=tuple(replace(slot, windows=windows(slot.windows)) for slot in one.buffers))
    plan = arrange(case)
    return plan, DEVICE.run(one, plan.dispatches)


@pytest.mark.parametrize("access", ACCESSES)
@pytest.mark.parametrize("rest", ["", "/beyond:4GiB/indexing:wide", "/beyond:4GiB/by:first/indexing:wide"])
def test_it_moves_a_matrix_beyond_the_limit(access, rest) -> None:
    case = case_of(access, rest)
    plan, outcomes = run(case)
    for want, before, outcome in zip(plan.expected, plan.before, outcomes, strict=True):
        assert not compare(case.program, want, before, outcome)


@pytest.mark.parametrize("access", ACCESSES)
def test_it_stops_at_an_access_beyond_4_gib_without_64_bit_indexing(access) -> None:
    case = case_of(access, "/beyond:4GiB/indexing:wide")
    with undefined("VUID-RuntimeSpirv-None-10834"):
        run(case, replace(case.program, wide_indexing=False))


@pytest.mark.parametrize("access", ACCESSES)
def test_it_stops_at_an_access_to_bytes_that_nobody_holds(access) -> None:
    def fewer(windows):
        # The number of held bytes is the same, but the last of them are somewhere else.
        if windows is None:
            return None
        *rest, last = windows.parts
        return Windows(windows.span + (1 << 20), (*rest, replace(last, first=last.first + (1 << 18))))

    with undefined("KHR-MEM-02"):
        run(case_of(access), windows=fewer)
