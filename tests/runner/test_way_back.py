"""How the judgement of a failure asks a device for the way back from the first wrong element."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from cts.kinds.kernel import WrongSubcase, _failed, _way_back, arrange, make_kernels
from cts.verdict.compare import compare
from cts.verdict.effort import Effort
from cts.verdict.machine import ElementPlace, MachineWalk
from generators.casebook import build, find_case, load_casebook
from generators.kernel import Outcome
from tests.suite import REPOSITORY

ID = "muladd[row:16x16x16.f16.f16.f32.f32/data:exact]"


@pytest.fixture
def failed():
    """Return a function that fails a case, on a device whose walk is given, and returns the judgement."""

    def fail(walk, modelled: str = "by a model", effort: Effort | None = None, index: int = 0, round_: int = 1):
        case = find_case(load_casebook(REPOSITORY, ["muladd"]), ID)
        built = build(case)
        plan = arrange(built)
        device = SimpleNamespace(description=SimpleNamespace(modelled=modelled), walk=walk)
        outputs = {name: np.zeros_like(one) for name, one in plan.before[index].items()}
        outcome = Outcome(outputs)
        entry = WrongSubcase(index, outcome, compare(plan.programs[index], plan.expected[index], plan.before[index], outcome), round_)
        kernels = dict(zip(map(id, built.program.all), make_kernels(built, "spirv"), strict=True))
        return _failed(case, plan, [entry], "", effort or Effort(), lambda *asked: _way_back(device, kernels, plan, *asked))

    return fail


def test_a_model_is_asked_for_the_first_wrong_element(failed):
    asked = []
    failure = failed(lambda kernel, dispatch, place, number: asked.append(place) or MachineWalk("stored by lane 3")).failures[0]
    element = failure.mismatch.elements[0]
    assert asked == [ElementPlace(failure.mismatch.array, element.offset, 4)]
    assert failure.machine is not None
    assert failure.machine.what.endswith(f"at byte {element.offset} of {failure.mismatch.array}: stored by lane 3")


@pytest.mark.parametrize(("index", "round_"), [(1, 1), (0, 2)])
def test_a_model_is_told_how_many_dispatches_came_before(failed, index, round_):
    asked, ordinary = [], []
    failed(lambda *arguments: asked.append(arguments[3]), index=index, round_=round_)
    failed(lambda *arguments: ordinary.append(arguments[3]))
    assert ordinary == [0]
    assert asked[0] > 0
    assert index in (0, asked[0])


def test_the_message_has_its_first_lines(failed):
    assert "stored by lane 3" in failed(lambda *_: MachineWalk("stored by lane 3")).message


def test_a_real_device_is_not_asked(failed):
    assert failed(lambda *_: pytest.fail("it was asked"), modelled="").failures[0].machine is None


def test_a_failure_that_is_not_diagnosed_has_no_way_back(failed):
    assert failed(lambda *_: pytest.fail("it was asked"), effort=replace(Effort(), decided=("fail",))).failures[0].machine is None


def test_a_walk_that_fails_hides_nothing(failed):
    def broken(*_):
        raise ValueError("no such register")

    judgement = failed(broken)
    assert judgement.verdict == "fail"
    assert "no such register" in judgement.failures[0].machine.what
