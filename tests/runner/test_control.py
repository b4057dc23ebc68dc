from __future__ import annotations

import pytest

from cts.devices.device import DeviceUnavailable, Finding
from cts.devices.holder import Retries
from cts.engine.control import IN_A_ROW, RUNS, ControlCase, Plain, StageUnavailable, plain_case
from cts.verdict.verdict import Verdict
from tests.suite import casebook

RETRIES = Retries(attempts=3, pause=2.0)
COMPUTE = Plain("plain[stage:compute]", drawn=False)
FRAGMENT = Plain("plain[stage:fragment]", drawn=True)


class Device:
    """Ends each run of the control case with the next verdict, and all further runs with the last one."""

    def __init__(self, *verdicts: str, plain: Plain | None = None, tells_all: bool = False) -> None:
        self.verdicts = [Verdict(verdict) for verdict in verdicts]
        self.asked: list[str] = []
        self.waited: list[float] = []
        self.renewed = 0
        self.findings: list[Finding] = []
        self.control = ControlCase(
            self.rerun,
            RETRIES,
            self.waited.append,
            plain=lambda _: plain,
            renew=self.renew,
            findings=self.findings,
            tells_all=tells_all,
        )

    def renew(self) -> None:
        self.renewed += 1

    def rerun(self, id_: str) -> Verdict:
        self.asked.append(id_)
        return self.verdicts.pop(0) if len(self.verdicts) > 1 else self.verdicts[0]


def test_the_quickest_case_of_the_same_family_is_run_again():
    device = Device("pass")
    for id_, seconds in {"draws[slow]": 3.0, "draws[quick]": 0.1, "dispatches[quicker]": 0.05}.items():
        device.control.passed(id_, seconds)
    device.control.confirm("draws[lost]")
    assert set(device.asked) == {"draws[quick]"}


def test_where_no_case_of_the_family_passed_the_quickest_of_all_is_run_again():
    device = Device("pass")
    for id_, seconds in {"draws[quick]": 0.1, "dispatches[quicker]": 0.05}.items():
        device.control.passed(id_, seconds)
    device.control.confirm("queries[lost]")
    assert set(device.asked) == {"dispatches[quicker]"}


def test_where_no_case_of_the_family_passed_a_shader_without_cooperative_types_is_run_first():
    device = Device("pass", plain=FRAGMENT)
    device.control.passed("dispatches[quicker]", 0.05)
    device.control.confirm("draws[lost]")
    assert device.asked == ["plain[stage:fragment]"] * RUNS + ["dispatches[quicker]"] * RUNS


def test_where_nothing_has_passed_a_shader_without_cooperative_types_tells_that_the_device_is_lost():
    device = Device("timeout", plain=FRAGMENT)
    with pytest.raises(StageUnavailable) as raised:
        device.control.confirm("draws[lost]")
    assert (raised.value.control, raised.value.verdict) == ("plain[stage:fragment]", "timeout")


def test_where_a_shader_without_cooperative_types_does_not_end_its_stage_is_lost():
    device = Device("timeout", plain=FRAGMENT)
    device.control.passed("dispatches[quicker]", 0.05)
    with pytest.raises(StageUnavailable) as raised:
        device.control.confirm("draws[lost]")
    assert raised.value.plain == "plain[stage:fragment]"


def test_a_family_that_passes_in_one_stage_says_nothing_of_another():
    device = Device("timeout", plain=FRAGMENT)
    device.control.passed("draws[stage:vertex]", 0.1)
    with pytest.raises(StageUnavailable):
        device.control.confirm("draws[stage:fragment]")


def test_the_quickest_case_must_also_pass_if_such_a_shader_only_ends():
    device = Device(*["fail"] * (RUNS + 1), plain=FRAGMENT)
    device.control.passed("dispatches[quicker]", 0.05)
    with pytest.raises(DeviceUnavailable) as raised:
        device.control.confirm("draws[lost]")
    assert not isinstance(raised.value, StageUnavailable)


@pytest.mark.parametrize(
    ("plain", "passed", "asked"),
    [
        (FRAGMENT, True, ["dispatches[quick]"]),
        (FRAGMENT, False, []),
        (COMPUTE, True, [COMPUTE.id, "dispatches[quick]"]),
        (COMPUTE, False, [COMPUTE.id]),
    ],
)
def test_a_lost_device_needs_a_case_that_passed_and_a_dispatch_without_cooperative_types(plain: Plain, passed: bool, asked: list[str]):
    device = Device("pass", plain=plain)
    if passed:
        device.control.passed("dispatches[quick]", 0.1)
    device.control.require("draws[lost]")
    assert device.asked == asked


def test_a_control_that_fails_runs_again_in_a_fresh_process():
    device = Device("fail", "pass")
    device.control.passed("quick", 0.1)
    device.control.require("lost")
    assert (device.asked, device.renewed) == (["quick", "quick"], 1)


def test_a_device_that_fails_in_fresh_processes_too_is_unavailable():
    device = Device("fail")
    device.control.passed("quick", 0.1)
    with pytest.raises(DeviceUnavailable):
        device.control.require("lost")
    assert device.renewed == RETRIES.attempts


@pytest.mark.parametrize(("verdict", "works"), [("pass", True), ("fail", False), ("not_supported", False)])
def test_a_device_works_if_the_quickest_case_passes_at_once(verdict: str, works: bool):
    device = Device(verdict)
    device.control.passed("quick", 0.1)
    assert device.control.works("wrong") is works
    assert device.asked == ["quick"]


@pytest.mark.parametrize("verdict", ["pass", "fail", "not_supported", "known_fail", "resource_error"])
def test_a_shader_without_cooperative_types_only_has_to_come_to_its_end(verdict: str):
    device = Device(verdict, plain=FRAGMENT)
    device.control.confirm("draws[lost]")
    assert device.waited == []


@pytest.mark.parametrize(
    ("case", "plain"),
    [
        ("vector_stages[stage:vertex/operation:copy]", Plain("plain_shaders[stage:vertex]", drawn=True)),
        ("load_store[component:f16]", Plain("plain_shaders[stage:compute]", drawn=False)),
        ("plain_shaders[stage:vertex/invocations:1]", None),
        ("vector_property_queries[rule:count]", None),
    ],
)
def test_the_shader_without_cooperative_types_runs_in_the_stage_of_the_case(case: str, plain: Plain | None):
    assert plain_case(casebook(), case) == plain


def test_draws_are_right_where_one_without_cooperative_types_is_right_several_times():
    device = Device("pass", plain=FRAGMENT)
    assert device.control.draws("draws[wrong]")
    assert device.asked == [FRAGMENT.id] * RUNS


def test_draws_are_wrong_where_one_without_cooperative_types_is_wrong_at_last():
    assert not Device(*["pass"] * (RUNS - 1), "fail", plain=FRAGMENT).control.draws("draws[wrong]")


def test_a_dispatch_needs_no_control_of_its_values():
    device = Device("fail", plain=Plain("plain[]", drawn=False))
    assert device.control.draws("dispatches[wrong]")
    assert device.asked == []


def test_where_draws_without_cooperative_types_stay_wrong_their_stage_is_lost():
    with pytest.raises(StageUnavailable) as raised:
        Device("fail", plain=FRAGMENT).control.confirm_draws("draws[wrong]")
    assert (raised.value.plain, raised.value.verdict) == (FRAGMENT.id, "fail")


def test_a_device_that_passes_only_once_more_is_unavailable():
    device = Device(*["pass", "timeout"] * RETRIES.attempts)
    device.control.passed("quick", 0.1)
    with pytest.raises(DeviceUnavailable):
        device.control.confirm("lost")


def test_a_control_case_has_to_pass_several_times():
    device = Device("pass")
    device.control.passed("quick", 0.1)
    device.control.confirm("lost")
    assert device.asked == ["quick"] * RUNS


def test_without_a_case_that_passed_nothing_is_asked():
    device = Device("device_lost")
    device.control.confirm("lost")
    assert device.asked == []


def test_a_device_that_comes_back_is_waited_for_with_growing_pauses():
    device = Device("device_lost", "crash", "pass")
    device.control.passed("quick", 0.1)
    device.control.confirm("lost")
    assert device.waited == [2.0, 4.0]


def test_a_device_that_does_not_come_back_is_unavailable():
    device = Device("device_lost")
    device.control.passed("quick", 0.1)
    with pytest.raises(DeviceUnavailable) as raised:
        device.control.confirm("lost")
    assert (raised.value.control, raised.value.verdict, raised.value.attempts) == ("quick", "device_lost", 3)


def test_several_failures_in_a_row_raise_the_question_and_a_pass_between_them_does_not():
    device = Device("pass")
    device.control.passed("quick", 0.1)
    for _ in range(IN_A_ROW - 1):
        device.control.failed("one")
    device.control.passed("other", 1.0)
    for _ in range(IN_A_ROW - 1):
        device.control.failed("one")
    assert device.asked == []
    device.control.failed("one")
    assert set(device.asked) == {"quick"}


ASKS = {
    "require": lambda control: control.require("case"),
    "confirm": lambda control: control.confirm("case"),
    "confirm_draws": lambda control: control.confirm_draws("case"),
    "works": lambda control: control.works("case"),
    "draws": lambda control: control.draws("case"),
}


def asked_of_control(device: Device, ask: str) -> list[Finding]:
    device.control.passed("quick", 0.1)
    ASKS[ask](device.control)
    return device.findings


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("verdict", ["timeout", "device_lost"])
def test_a_control_that_fails_in_one_process_only_is_a_finding_that_names_the_case(ask: str, verdict: str):
    (finding,) = asked_of_control(Device(verdict, "pass", plain=FRAGMENT), ask)
    assert " case" in finding.what
    assert not finding.outside


def test_a_control_that_fails_after_a_known_failure_is_no_finding():
    device = Device("fail")
    device.control.passed("quick", 0.1)
    assert not device.control.works("known", tells=False)
    assert device.findings == []


@pytest.mark.parametrize("ask", ASKS)
def test_a_control_is_no_finding_if_it_works_or_if_it_lacks_memory(ask: str):
    assert asked_of_control(Device("pass", plain=FRAGMENT), ask) == []
    assert asked_of_control(Device("resource_error", "pass", plain=FRAGMENT), ask) == []


def test_a_driver_that_wears_out_again_and_again_is_one_finding():
    device = Device("fail", "pass", "fail", "pass")
    device.control.passed("quick", 0.1)
    device.control.require("one")
    device.control.require("another")
    assert len(device.findings) == 1


def test_where_another_process_decides_each_control_that_fails_is_a_finding():
    device = Device("fail", "pass", "fail", "pass", tells_all=True)
    device.control.passed("quick", 0.1)
    device.control.require("one")
    device.control.require("another")
    assert len(device.findings) == 2


def test_a_device_that_is_unavailable_is_no_further_finding():
    device = Device("fail", plain=FRAGMENT)
    with pytest.raises(DeviceUnavailable):
        asked_of_control(device, "require")
    assert device.findings == []
