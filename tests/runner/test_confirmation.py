from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest

from cts.engine.confirmation import Bench, batches, confirmed, is_same
from cts.engine.set_aside import SetAside, tried
from cts.journal.record import encode
from cts.verdict.failure import Failure, Match, Mismatch
from cts.verdict.verdict import CaseResult, Judgement, Verdict


def failed(number: int, wrong: int = 1) -> CaseResult:
    mismatch = Mismatch("wrong value", "target", "matrix", 0, wrong, 64, "one element")
    failures = (Failure("first", mismatch, (Match("a.defect", "a sentence"),)),)
    judged = Judgement(Verdict.FAIL, "fail.value", "wrong", failures=failures)
    return CaseResult(id=f"a[{number}]", family="a", device="Device", driver="1", seconds=0.5, **vars(judged))


def passed(number: int) -> CaseResult:
    return replace(failed(number), verdict=Verdict.PASS, code="", reason="", failures=())


def aside(number: int, group: int = 0) -> SetAside:
    first = failed(number)
    return SetAside(first.id, 1, tried(first, alone=False), group=group, line=encode(first).decode())


class Device:
    """Records what happens to it. A case is as bad as before unless ``again`` says otherwise; the control fails after ``damaged_by``."""

    def __init__(self, again: dict[str, CaseResult] | None = None, damaged_by: str = "", late_after: str = "") -> None:
        self.events: list[str] = []
        self.again = again or {}
        self.damaged_by = damaged_by
        renew = partial(self.events.append, "renew")
        self.bench = Bench(renew, self.require, self.works, self.judge, alone=True, late=lambda: late_after in self.events)

    def require(self, id_: str) -> None:
        self.events.append("control")

    def works(self, id_: str) -> bool:
        self.events.append("control")
        return id_ != self.damaged_by

    def judge(self, aside: SetAside, code: str) -> CaseResult:
        assert code == "fail.value"
        self.events.append(aside.id)
        return self.again.get(aside.id, failed(int(aside.id[2])))

    def judged(self, count: int) -> dict[str, CaseResult | None]:
        return {one.id: result for one, result in confirmed([aside(number) for number in range(count)], self.bench)}


def test_failures_share_a_process_in_reverse_order_with_a_control_before_and_after_each():
    device = Device()
    results = device.judged(3)
    assert device.events == ["renew", "control", "a[2]", "control", "a[1]", "control", "a[0]", "control"]
    assert all(result is not None and result.verdict is Verdict.FAIL for result in results.values())


def test_a_confirmed_failure_keeps_its_explanation_and_has_both_tries():
    (result,) = Device().judged(1).values()
    assert result is not None
    assert result.failures[0].matches[0].id == "a.defect"
    assert [(one.alone, one.fresh, one.verdict) for one in result.tries] == [(False, False, "fail"), (True, True, "fail")]


@pytest.mark.parametrize("again", [passed(1), failed(1, wrong=2)])
def test_a_failure_that_is_not_repeated_is_judged_by_itself_and_the_rest_in_a_fresh_process(again: CaseResult):
    device = Device({"a[1]": again})
    results = device.judged(3)
    assert results["a[1]"] is None
    assert device.events == ["renew", "control", "a[2]", "control", "a[1]", *device.events[5:]]
    assert device.events[-4:] == ["renew", "control", "a[0]", "control"]


def test_a_failure_after_which_the_control_fails_is_judged_by_itself():
    results = Device(damaged_by="a[1]").judged(3)
    assert [id_ for id_, result in results.items() if result is None] == ["a[1]"]


@pytest.mark.parametrize("again", [{}, {"a[2]": failed(2, wrong=2)}])
def test_after_the_time_limit_failures_keep_their_verdict_without_another_process(again: dict[str, CaseResult]):
    device = Device(again, late_after="a[2]")
    results = device.judged(3)
    assert device.events.count("renew") == 1
    assert [(one.id, one.code, [each.fresh for each in one.tries]) for one in (results["a[1]"], results["a[0]"]) if one] == [
        ("a[1]", "fail.value", [False]),
        ("a[0]", "fail.value", [False]),
    ]


def test_results_are_the_same_whatever_explains_them():
    one = failed(1)
    assert is_same(one, replace(one, failures=(replace(one.failures[0], matches=()),), seconds=3.0))
    assert not is_same(one, failed(1, wrong=2))


def test_each_batch_has_one_device_and_a_bounded_number_of_failures():
    def sizes(*groups: int) -> Iterator[list[int]]:
        return ([one.group for one in batch] for batch in batches([aside(0, group) for group in groups], 2))

    assert list(sizes(0, 1, 0, 0, 1)) == [[0, 0], [0], [1, 1]]
