"""Minimised data: one dispatch that fails alone, with zeros in place of all irrelevant data. The device's output is wrong if one input
element is not zero."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from cts.devices.device import DeviceLost
from cts.devices.holder import DeviceHolder
from cts.engine.runner import judge
from cts.minimise.data import Fewest, fewest
from cts.minimise.ending import Ending, ending_of
from cts.minimise.search import Budget
from cts.verdict.verdict import Verdict
from generators.casebook import find_case
from generators.kernel import Dispatch, Kernel, Outcome
from tests.broken_devices.doubles import Broken
from tests.suite import casebook

CASE = "load_store[component:u32/shape:8x8]"
DECISIVE = 13
"""The element of the input that makes the output wrong."""


def is_decisive(kernel: Kernel, dispatch: Dispatch) -> bool:
    source = next(contents for slot, contents in zip(kernel.buffers, dispatch.contents, strict=True) if not slot.written)
    return bool(source[4 * DECISIVE : 4 * DECISIVE + 4].any())


def flipped(kernel: Kernel, dispatch: Dispatch, outcome: Outcome) -> Outcome:
    if not is_decisive(kernel, dispatch):
        return outcome
    outputs = {name: np.concatenate([contents[:-4], ~contents[-4:]]) for name, contents in outcome.outputs.items()}
    return replace(outcome, outputs=outputs)


def lost(kernel: Kernel, dispatch: Dispatch, outcome: Outcome) -> Outcome:
    if is_decisive(kernel, dispatch):
        raise DeviceLost("lost")
    return outcome


@cache
def left(outcome: Callable[[Kernel, Dispatch, Outcome], Outcome], runs: int = 500) -> tuple[Fewest | None, Ending, Budget]:
    case = find_case(casebook(), CASE)
    holder = DeviceHolder(lambda: Broken(outcome=outcome))
    ending = ending_of(judge(case, holder, "spirv", "smoke"))
    budget = Budget(runs, 1e9)
    return fewest(case, ending, holder, "spirv", budget, lambda *_: None), ending, budget


@pytest.mark.parametrize(("outcome", "verdict"), [(flipped, Verdict.FAIL), (lost, Verdict.DEVICE_LOST)])
def test_only_the_decisive_element_is_left(outcome, verdict):
    found, ending, _ = left(outcome)
    assert ending.verdict is verdict
    assert found is not None
    assert found.complete
    data = next(iter(found.subcase.inputs.values())).view(np.uint32)
    assert np.flatnonzero(data).tolist() == [DECISIVE]
    assert next(iter(found.elements.values()))[0] == 1


def test_the_expectation_belongs_to_the_remaining_data():
    found, _, _ = left(flipped)
    assert found is not None
    expected = found.arrangement.expected[0].placed[0].expected.bits
    assert np.count_nonzero(expected) <= 1


def test_it_ends_when_the_runs_are_used_up():
    found, _, budget = left(flipped, runs=4)
    assert budget.used == 4
    assert found is not None
    assert not found.complete


def test_there_is_no_failing_dispatch_if_none_fails_alone():
    case = find_case(casebook(), CASE)
    holder = DeviceHolder(Broken)
    never = Ending(Verdict.FAIL, "fail.value")
    assert fewest(case, never, holder, "spirv", Budget(100, 1e9), lambda *_: None) is None
