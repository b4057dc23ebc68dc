from __future__ import annotations

from dataclasses import replace

import pytest

from cts.devices.holder import DeviceHolder, Retries
from cts.embedded.profile import load_profile
from cts.engine.first_shader import FirstShader, NoShaderRuns
from cts.engine.runner import judge
from cts.verdict.verdict import Verdict
from generators.casebook import expand, find_case
from tests.broken_devices.doubles import Broken
from tests.suite import casebook

PLAIN_ID = "plain_shaders[stage:compute]"
KERNEL = "load_store[component:f16]"
RETRIES = Retries(attempts=3, pause=2.0)


class Device:
    """A device of some kind whose first plain shaders end with some verdicts, and the others with the last one."""

    def __init__(self, *verdicts: str, kind: str = "vulkan", cases: int = 1) -> None:
        self.verdicts = [Verdict(verdict) for verdict in verdicts]
        self.description = replace(load_profile("universal").description, name="Some GPU", kind=kind)
        self.opened = self.closed = 0
        self.asked: list[str] = []
        self.waited: list[float] = []
        self.holder = DeviceHolder(self.open)
        self.first = FirstShader(casebook(), self.holder, self.judge, RETRIES, self.holder.findings, cases, self.waited.append)

    def open(self) -> Device:
        self.opened += 1
        return self

    def close(self) -> tuple[()]:
        self.closed += 1
        return ()

    def judge(self, case):
        self.asked.append(case.id)
        verdict = self.verdicts.pop(0) if len(self.verdicts) > 1 else self.verdicts[0]
        return replace(PASSED, id=case.id, verdict=verdict, reason="nothing was written")

    def before(self, *ids: str) -> list[str]:
        for id_ in ids:
            self.first.before(find_case(casebook(), id_))
        return self.asked


PASSED = judge(find_case(casebook(), PLAIN_ID), DeviceHolder(Broken), "spirv", "smoke")


def test_a_plain_shader_runs_once_before_the_first_kernel():
    assert Device("pass").before(KERNEL, KERNEL) == [PLAIN_ID]


@pytest.mark.parametrize("verdict", ["fail", "crash", "timeout", "device_lost"])
def test_a_device_on_which_no_plain_shader_runs_ends_the_run(verdict):
    with pytest.raises(NoShaderRuns) as raised:
        Device(verdict).before(KERNEL)
    assert (raised.value.control, raised.value.verdict, raised.value.attempts) == (PLAIN_ID, verdict, RETRIES.attempts)


def test_a_plain_shader_that_fails_once_runs_again_on_a_fresh_device():
    device = Device("crash", "pass")
    assert device.before(KERNEL) == [PLAIN_ID] * 2
    assert (device.closed, device.waited) == (1, [2.0])


def test_a_plain_shader_that_fails_in_one_process_only_is_a_finding_that_names_the_case():
    device = Device("fail", "pass")
    device.before(KERNEL)
    (finding,) = device.holder.findings
    assert KERNEL in finding.what


def test_a_plain_shader_that_fails_beside_others_runs_again_before_the_next_kernel():
    device = Device("fail", "fail", "fail", "pass", cases=2)
    assert device.before(KERNEL) == [PLAIN_ID] * 3
    assert device.before(KERNEL, KERNEL) == [PLAIN_ID] * 4
    assert device.holder.findings == []


def test_a_plain_shader_that_still_fails_before_the_next_kernel_ends_the_run():
    device = Device("fail", cases=2)
    device.before(KERNEL)
    with pytest.raises(NoShaderRuns):
        device.before(KERNEL)


@pytest.mark.parametrize("verdict", ["not_supported", "resource_error", "error", "quality_warning"])
def test_other_verdicts_on_the_plain_shader_do_not_show_that_nothing_runs(verdict):
    assert Device(verdict).before(KERNEL) == [PLAIN_ID]


def test_a_run_of_plain_shaders_alone_judges_them():
    assert Device("fail").before(PLAIN_ID, "plain_shaders[stage:vertex]") == []


@pytest.mark.parametrize("family", ["property_queries", "static_types", "vector_layout_conversion"])
def test_cases_without_a_shader_need_none(family):
    device = Device("fail")
    device.first.before(expand(casebook().family(family), "smoke")[0])
    assert (device.asked, device.opened) == ([], 0)


def test_the_embedded_device_is_not_checked():
    assert Device("fail", kind="embedded").before(KERNEL) == []
