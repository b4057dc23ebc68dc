"""Mistakes planted in small shaders are told, and the shaders beside them are not blamed: planted.yaml."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from cts.devices.embedded.device import EmbeddedDevice
from cts.devices.embedded.observations import Observation, Observations, Severity
from cts.devices.embedded.profile import load_profile
from generators.kernel import BufferSlot, Dispatch, Kernel
from tests.embedded.assembly import shader, store

PLANTED = yaml.safe_load((Path(__file__).parent / "planted.yaml").read_text())
MATRICES = """
%square = OpTypeCooperativeMatrixKHR %u32 %u32_3 %u32_4 %u32_4 %u32_2
%null = OpConstantNull %square
"""


def observed(case: dict[str, Any], text: str) -> tuple[Observation, ...]:
    body = (case.get("before", "") + "\n" + case["body"]).replace("{}", text)
    body = re.sub(r"(?m)^\s*store (\S+)$", lambda found: store(found[1], name="stored"), body)
    matrices = case.get("matrices", False)
    module = shader(
        body,
        (MATRICES if matrices else "") + case.get("declarations", ""),
        capabilities=(*case.get("capabilities", ()), *(["CooperativeMatrixKHR"] if matrices else ())),
        imports=case.get("imports", ""),
    )
    slots = (BufferSlot("input", 16, False, 0), BufferSlot("output", case.get("output", 64), True, 1))
    kernel = Kernel(module, slots, subgroups=case.get("subgroups", 1), robust=case.get("robust", False))
    observations = Observations()
    device = EmbeddedDevice(replace(load_profile("universal"), subgroup_size=4), observations=observations)
    contents = tuple(np.zeros(slot.bytes, np.uint8) for slot in slots)
    device.run(kernel, [Dispatch(b"", contents, (case.get("workgroups", 1), 1, 1))])
    return observations.all()


def test_there_are_sixty_of_each() -> None:
    assert len({case["what"] for case in PLANTED}) >= 60


@pytest.mark.parametrize("case", PLANTED, ids=lambda case: case["what"])
def test_a_planted_mistake_is_told(case: dict[str, Any]) -> None:
    found = observed(case, case["wrong"])
    (one,) = [one for one in found if one.rule in (case["rule"], case.get("may_be"))]
    assert one.severity is Severity[case.get("severity", "UNDEFINED")] or one.rule == case.get("may_be")
    assert one.instruction
    if "invocation" in case:
        assert one.invocation == case["invocation"]


@pytest.mark.parametrize("case", PLANTED, ids=lambda case: case["what"])
def test_a_shader_without_the_mistake_is_not_blamed(case: dict[str, Any]) -> None:
    assert observed(case, case["right"]) == ()
