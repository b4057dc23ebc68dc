from __future__ import annotations

import msgspec
import pytest

from cts.engine.set_aside import SetAside, settle
from cts.verdict.verdict import CaseResult, Try, Verdict

ID = "a[1]"
LOST = Try(False, Verdict.DEVICE_LOST, "lost", "dispatch", 1.0)


def result(verdict: str, reason: str = "", message: str = "") -> CaseResult:
    return CaseResult(
        id=ID, family="a", verdict=Verdict(verdict), reason=reason, message=message, subcases=1, device="Device", driver="1", seconds=0.5
    )


def settled(first: Try | None, *verdicts: str, kept_back: bool = False, known: bool = False) -> CaseResult:
    """Settle a case whose runs have these verdicts; all of them must be used. With ``known``, every failure is a known one."""
    runs = [result(verdict, reason=f"{verdict} it is") for verdict in verdicts]
    left = list(runs)
    settlement = settle(SetAside(ID, 1, first, kept_back), lambda: left.pop(0), lambda one: known and one.verdict is not Verdict.PASS)
    assert not left
    return settlement


def test_one_run_that_ends_as_the_first_try_settles():
    found = settled(LOST, "device_lost")
    assert found.verdict is Verdict.DEVICE_LOST
    assert [(one.alone, one.verdict) for one in found.tries] == [(False, "device_lost"), (True, "device_lost")]


def test_another_end_has_to_come_twice():
    assert settled(LOST, "pass", "pass").verdict is Verdict.PASS
    assert settled(LOST, "fail", "fail").verdict is Verdict.FAIL
    assert settled(LOST, "timeout", "timeout").verdict is Verdict.TIMEOUT


def test_two_runs_that_disagree_are_flaky_and_say_how():
    found = settled(LOST, "fail", "pass")
    assert found.verdict is Verdict.FLAKY
    assert (found.verdict, found.code) == (Verdict.FLAKY, "flaky")
    assert "fail (fail it is), then pass (pass it is)" in found.reason
    assert len(found.tries) == 3


def test_flaky_keeps_what_was_wrong():
    runs = [result("fail", message="element 3"), result("pass")]
    assert "element 3" in settle(SetAside(ID, 1, LOST), lambda: runs.pop(0), lambda _: False).message


def test_an_unknown_first_try_settles_nothing():
    assert settled(None, "crash", "crash").verdict is Verdict.CRASH
    assert settled(None, "crash", "pass").verdict is Verdict.FLAKY


def test_a_case_that_was_kept_back_is_settled_by_one_run_that_ends_as_is_known():
    found = settled(None, "device_lost", kept_back=True, known=True)
    assert [(one.alone, one.verdict) for one in found.tries] == [(True, "device_lost")]


@pytest.mark.parametrize("verdict", ["pass", "fail", "not_supported"])
def test_a_case_that_was_kept_back_and_keeps_its_device_is_settled_by_one_run(verdict):
    assert settled(None, verdict, kept_back=True).verdict == verdict


def test_a_case_that_was_kept_back_and_ends_in_an_unknown_way_runs_twice():
    assert settled(None, "crash", "crash", kept_back=True).verdict is Verdict.CRASH


def test_set_aside_cases_cross_between_processes_unchanged():
    for first in (LOST, None):
        aside = SetAside(ID, 2, first, kept_back=first is None)
        assert msgspec.convert(msgspec.to_builtins(aside), SetAside) == aside
        assert aside.id == "a[1]"


def test_a_case_that_was_kept_back_runs_first_with_a_short_limit():
    def fails() -> CaseResult:
        raise AssertionError("nothing more is to be asked")

    found = settle(SetAside(ID, 1, None, kept_back=True), fails, lambda one: one.verdict is Verdict.TIMEOUT, lambda: result("timeout"))
    assert (found.verdict, len(found.tries)) == (Verdict.TIMEOUT, 1)


def test_a_short_limit_that_ends_a_case_in_an_unknown_way_settles_nothing():
    runs = [result("pass")]
    found = settle(SetAside(ID, 1, None, kept_back=True), runs.pop, lambda _: False, lambda: result("timeout"))
    assert (found.verdict, [one.verdict for one in found.tries]) == (Verdict.PASS, ["timeout", "pass"])


def test_a_known_failure_in_the_process_of_the_case_before_settles_a_case_that_was_kept_back():
    runs = [result("fail")]
    aside = SetAside(ID, 1, None, kept_back=True)
    found = settle(aside, runs.pop, lambda one: one.verdict is Verdict.TIMEOUT, runs.pop, lambda: result("timeout"))
    assert (found.verdict, len(found.tries)) == (Verdict.TIMEOUT, 1)


@pytest.mark.parametrize("verdict", ["pass", "fail", "device_lost"])
def test_any_other_result_in_the_process_of_the_case_before_settles_nothing(verdict):
    runs = [result("timeout"), result(verdict)]
    found = settle(SetAside(ID, 1, None, kept_back=True), runs.pop, lambda one: one.verdict is Verdict.TIMEOUT, runs.pop, runs.pop)
    assert (found.verdict, [one.verdict for one in found.tries]) == (Verdict.TIMEOUT, [verdict, "timeout"])
