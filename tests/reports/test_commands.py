from __future__ import annotations

from pathlib import Path

import pytest

from cts.devices.spec import DeviceSpec
from cts.judges import choose
from cts.verdict.verdict import CaseResult, Verdict
from reports.commands import commands


@pytest.mark.parametrize("selector", ["embedded", "embedded:llvmpipe", "embedded:nvidia-h200"])
def test_the_commands_name_the_profile_that_judged(selector):
    choice = choose(selector)
    assert choice.spec.selector == selector
    result = CaseResult(
        id="f[a]", family="f", verdict=Verdict.FAIL, device=choice.description.name, driver="embedded 1", front_end="spirv", tier="smoke"
    )
    meta = {"device": {"name": choice.description.name, "kind": "embedded", "uuid": ""}, "selector": choice.spec.selector}
    lines = commands(result, [meta], {"f": Path("/checkout/cases/s/f.yaml")})
    judging = [line for line in lines.values() if not line.startswith("cts show ")]
    assert "cts run 'f[a]'" in lines["Judge it again"]
    assert [line.partition(" --device ")[2].removesuffix(" --out DIR") for line in judging] == [selector] * 4


def test_a_page_says_how_to_see_what_the_labels_of_an_id_mean():
    result = CaseResult(id="f[a-a]", family="f", verdict=Verdict.FAIL, device="d", driver="1", front_end="spirv", tier="smoke")
    assert "cts show 'f[a-a]' --glsl --spirv" in commands(result, [], {}).values()


def test_an_error_of_the_suite_is_only_judged_again():
    result = CaseResult(id="f[a]", family="f", verdict=Verdict.ERROR, device="d", driver="1", front_end="spirv", tier="smoke")
    assert list(commands(result, [], {"f": Path("/checkout/cases/s/f.yaml")}).values()) == ["cts run 'f[a]'"]


def test_a_vulkan_device_is_selected_by_its_uuid():
    assert DeviceSpec("vulkan", "00112233", 1).selector == "00112233"
