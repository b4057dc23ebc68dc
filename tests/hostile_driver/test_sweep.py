"""A run with any fault of any call keeps the invariants of the sweep, and a run that does not keep them gets a complaint."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from tests.hostile_driver.building import obstacle
from tests.hostile_driver.forks import JOBS, ROOT
from tests.hostile_driver.running import Observed
from tests.hostile_driver.sweep.invariants import Clean, judge
from tests.hostile_driver.sweep.plan import LATE, NOTHING, Call, Fault, read_trace, sampled
from tests.hostile_driver.sweep.running import Outcome

SAMPLE, SEED = 40, 29


@pytest.mark.skipif(bool(obstacle()), reason=f"this machine lacks what the hostile driver needs: {obstacle()}")
def test_any_fault_of_any_call_keeps_the_invariants() -> None:
    command = [sys.executable, "-m", "tests.hostile_driver.sweep", "--sample", str(SAMPLE), "--seed", str(SEED), "--jobs", str(JOBS)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout


FIRST, SECOND = "first[a:1]", "second[a:1]"
REQUESTS = {"run 1": FIRST, "run 2": SECOND}
CALLS = (Call("vkCreateDevice", "open", False), Call("vkQueueSubmit", "run 1", False), Call("vkQueueSubmit", "run 2", False))
SUBMIT = Fault("vkQueueSubmit", "VK_ERROR_UNKNOWN", "result:-13", nth=1, once=True)


def outcome(first: str = "pass", second: str = "pass", exit_: int | None = 0, struck: int = 1, **more: Any) -> Outcome:
    lines = tuple({"id": id_, "verdict": verdict, "tries": []} for id_, verdict in ((FIRST, first), (SECOND, second)) if verdict)
    plain: dict[str, Any] = {"output": b"", "lines": lines, "meta": {}, "reports": {}, "struck": (), "left": (), "seconds": 1.0}
    calls = tuple(replace(call, struck=number == struck) for number, call in enumerate(CALLS))
    return Outcome(Observed(exit=exit_, **plain | more), calls)


CLEAN = Clean(outcome(struck=-1), Outcome(outcome().seen, CALLS[:2]), REQUESTS)
FLAKY = outcome("flaky", exit_=1)
"""Keeps every invariant: the fault struck the first case, once."""


def kinds(fault: Fault, seen: Outcome) -> set[str]:
    return {text.partition(":")[0] for text in judge(fault, seen, CLEAN).wrong}


def test_a_run_that_keeps_the_invariants_gives_no_complaint() -> None:
    assert kinds(SUBMIT, FLAKY) == set()
    assert kinds(SUBMIT, outcome("", "", exit_=2, meta={"stopped": "STOPPED"})) == set()


@pytest.mark.parametrize(
    ("seen", "kind"),
    [
        (outcome("flaky", exit_=None), "hang"),
        (outcome("flaky", exit_=3), "exit code"),
        (outcome("flaky", exit_=5), "exit code"),
        (outcome("flaky", exit_=1, output=b"Traceback (most recent call last):"), "traceback"),
        (outcome("flaky", exit_=1, left=("sleep",)), "processes"),
        (outcome("flaky", "", exit_=1), "lost line"),
        (outcome("flaky", "", exit_=2), "lost line"),
        (outcome("flaky", exit_=1, lines=(None, *FLAKY.seen.lines)), "lost line"),
        (outcome("flaky", exit_=1, lines=(*FLAKY.seen.lines, FLAKY.seen.lines[0])), "lost line"),
        (outcome("flaky", "", exit_=0), "green"),
        (outcome("not_supported"), "excused"),
        (outcome("pass", "flaky", exit_=1), "innocent"),
        (outcome("fail", exit_=1), "not tried again"),
        (outcome("pass"), "unseen"),
        (outcome("flaky", exit_=1, struck=-1), "not struck"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_run_that_breaks_an_invariant_gets_a_complaint(seen: Outcome, kind: str) -> None:
    assert kind in kinds(SUBMIT, seen)


def test_a_fault_that_strikes_every_shader_blames_at_most_one_case() -> None:
    always = replace(SUBMIT, once=False)
    calls = tuple(replace(call, struck=call.name == SUBMIT.call) for call in CALLS)
    assert kinds(always, replace(outcome("fail", "fail", exit_=1), calls=calls)) == {"many blamed"}
    assert kinds(always, replace(outcome("fail", "", exit_=2, meta={"stopped": "STOPPED"}), calls=calls)) == set()


def test_a_call_may_do_nothing_only_if_nobody_can_see_it() -> None:
    assert kinds(replace(SUBMIT, what=NOTHING), outcome()) == {"unseen"}
    freed = judge(replace(SUBMIT, call="vkFreeMemory", what=NOTHING), outcome(), CLEAN)
    assert freed.wrong == ()
    assert freed.no_effect


def test_the_process_that_lists_devices_may_end_in_any_way() -> None:
    crash = Fault("vkDestroyInstance", "crash", "crash", nth=1, once=True)
    ends = Call("vkDestroyInstance", "close", True)
    listing, device = (ends, *CALLS), (*CALLS, ends)
    usual = replace(CLEAN, run=replace(CLEAN.run, calls=listing))
    assert judge(crash, replace(outcome(), calls=listing), usual).no_effect
    usual = replace(CLEAN, run=replace(CLEAN.run, calls=device))
    assert judge(crash, replace(outcome(), calls=device), usual).wrong


def test_a_slow_driver_is_blamed_for_nothing() -> None:
    slow = replace(SUBMIT, what=LATE)
    assert kinds(slow, outcome()) == set()
    assert kinds(slow, FLAKY) == {"innocent", "late"}


def test_a_query_that_says_nothing_from_its_first_call_on_is_believed() -> None:
    query = Fault("vkGetPhysicalDeviceFeatures2", NOTHING, "nothing", nth=1, once=False)
    assert kinds(query, outcome("not_supported", "not_supported", exit_=5)) == set()
    assert kinds(replace(query, nth=2), outcome("not_supported", "not_supported", exit_=5)) == {"excused"}


def test_a_trace_says_which_request_each_call_serves() -> None:
    assert read_trace("vkA\n= open\nvkB\n= run 1\nvkC !\nvkB\n") == (
        Call("vkA", "", False),
        Call("vkB", "open", False),
        Call("vkC", "run 1", True),
        Call("vkB", "run 1", False),
    )


def test_a_sample_has_as_many_calls_and_faults_as_possible() -> None:
    every = [Fault(call, what, "", nth, True) for call in "abc" for what in "xyz" for nth in (1, 2)]
    chosen = sampled(every, 3, seed=1)
    assert {fault.call for fault in chosen} == {"a", "b", "c"}
    assert {fault.what for fault in chosen} == {"x", "y", "z"}
    assert chosen == sampled(every, 3, seed=1)
