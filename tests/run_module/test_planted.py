"""Mistakes planted in small shaders are reported, and the same shaders without the mistakes are not blamed: planted.yaml."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.observations import Observation, Observations, Severity
from cts.embedded.profile import load_profile
from generators.kernel import BufferSlot, Dispatch, Kernel
from tests.embedded.assembly import shader, store
from tests.suite import plain

PLANTED = plain(Path(__file__).parent / "planted.yaml")
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
        decorations=case.get("decorations", ""),
        functions=case.get("functions", ""),
        capabilities=(*case.get("capabilities", ()), *(["CooperativeMatrixKHR"] if matrices else ())),
        imports=case.get("imports", ""),
    )
    inputs = (BufferSlot(f"input{i}", 16, False, 0, element=i) for i in range(1, case.get("descriptors", 1)))
    slots = (BufferSlot("input", 16, False, 0), *inputs, BufferSlot("output", case.get("output", 64), True, 1))
    kernel = Kernel(module, slots, subgroups=case.get("subgroups", 1), robust=case.get("robust", False))
    observations = Observations()
    device = EmbeddedDevice(replace(load_profile("universal"), subgroup_size=4), observations=observations)
    contents = tuple(np.zeros(slot.bytes, np.uint8) for slot in slots)
    device.run(kernel, [Dispatch(b"", contents, (case.get("workgroups", 1), 1, 1))])
    return observations.all()


def test_there_are_sixty_of_each_and_some_of_every_severity() -> None:
    assert len({case["what"] for case in PLANTED}) >= 60
    assert {Severity[case.get("severity", "UNDEFINED")] for case in PLANTED} == set(Severity)


ALL_AT_ONCE = """
    %beyond = OpIAdd %u32 %lane %u32_1
    %in = OpAccessChain %ptr_in %input %s32_0 %beyond
    %loaded = OpLoad %u32 %in
    %quotient = OpUDiv %u32 %u32_64 %lane
    %total = OpGroupNonUniformIAdd %u32 %u32_2 Reduce %loaded
    %to = OpAccessChain %ptr_out %output %s32_0 %s32_0
    OpCooperativeMatrixStoreKHR %to %zeros %u32_0 %u32_4
    OpControlBarrier %u32_2 %u32_2 %u32_24648
    %sum = OpIAdd %u32 %quotient %total
"""


def test_mistakes_of_every_severity_are_reported_in_one_run_the_worst_first() -> None:
    capabilities = ["GroupNonUniform", "GroupNonUniformArithmetic"]
    declared = "%wide = OpTypeCooperativeMatrixKHR %u32 %u32_3 %u32_4 %u32_8 %u32_2\n%zeros = OpConstantNull %wide"
    case = {
        "body": ALL_AT_ONCE + "{}",
        "matrices": True,
        "declarations": declared,
        "robust": True,
        "capabilities": capabilities,
        "output": 80,
    }
    found = observed(case, "")
    assert [(one.severity, one.rule) for one in found] == [
        (Severity.UNDEFINED, "SPIR-V 3.42.13"),
        (Severity.RULE, "VUID-StandaloneSpirv-None-04642"),
        (Severity.ROBUSTNESS, "KHR-MEM-02"),
        (Severity.POSITION, "F-KHR-1"),
    ]


@pytest.mark.parametrize("case", PLANTED, ids=lambda case: case["what"])
def test_a_planted_mistake_is_reported(case: dict[str, Any]) -> None:
    found = observed(case, case["wrong"])
    (one,) = [one for one in found if one.rule in (case["rule"], case.get("may_be"))]
    assert one.severity is Severity[case.get("severity", "UNDEFINED")] or one.rule == case.get("may_be")
    assert one.instruction
    if "invocation" in case:
        assert one.invocation == case["invocation"]


@pytest.mark.parametrize("case", PLANTED, ids=lambda case: case["what"])
def test_a_shader_without_the_mistake_is_not_blamed(case: dict[str, Any]) -> None:
    assert observed(case, case["right"]) == ()
