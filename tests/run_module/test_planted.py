"""Mistakes planted in small shaders are reported, and the same shaders without the mistakes are not blamed: planted.yaml."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cts.devices.device import DeviceFailure
from cts.embedded.device import EmbeddedDevice
from cts.embedded.observations import Observation, Observations, Severity
from cts.embedded.profile import load_profile
from cts.embedded.types.limits import LIMITS
from cts.run_module.running import Examined, Left
from generators.kernel import BufferSlot, Dispatch, Kernel
from generators.spirv.enumerants import TensorClampMode
from tests.embedded.assembly import shader, store
from tests.embedded.tensors import load_module, store_module
from tests.embedded.test_decode import BLOCK, PARAMETERS
from tests.embedded.test_decode import module as decoding_module
from tests.suite import plain

PLANTED = plain(Path(__file__).parent / "planted.yaml")
MATRICES = """
%square = OpTypeCooperativeMatrixKHR %u32 %u32_3 %u32_4 %u32_4 %u32_2
%null = OpConstantNull %square
"""
VECTORS = """
%ptr_in_words = OpTypePointer StorageBuffer %in_array
%ptr_out_words = OpTypePointer StorageBuffer %out_array
%vector = OpTypeCooperativeVectorNV %u32 %u32_4
%halves = OpTypeCooperativeVectorNV %f16 %u32_4
%zeros = OpConstantNull %vector
%zero_halves = OpConstantNull %halves
"""
VECTOR_POINTERS = """
%in_words = OpAccessChain %ptr_in_words %input %s32_0
%out_words = OpAccessChain %ptr_out_words %output %s32_0
"""
SHAPE = (4, 4)


def built(case: dict[str, Any], text: str) -> bytes:
    """Return the module of a case, with ``text`` in place of {}."""
    if "tensor" in case:
        tensor = case["tensor"]
        at, lines = (text, tensor["lines"]) if "lines" in tensor else ("0", text)
        build = store_module if tensor.get("stores") else load_module
        return build(SHAPE, getattr(TensorClampMode, tensor["mode"]), 2, lines.split(", "), at=at)
    if "decode" in case:
        own = "%ptr_own = OpTypePointer Function %u32\n"
        variable = "%own = OpVariable %ptr_own Function\n"
        function = PARAMETERS + variable + case["decode"].replace("{}", text).replace("%own %u32_0", "%own") + "OpReturnValue %word\n"
        return decoding_module(functions=function + "OpFunctionEnd", declarations=BLOCK + own)
    matrices, vectors = case.get("matrices", False), case.get("vectors", False)
    body = ((VECTOR_POINTERS if vectors else "") + case.get("before", "") + "\n" + case["body"]).replace("{}", text)
    body = re.sub(r"(?m)^\s*store (\S+)$", lambda found: store(found[1], name="stored"), body)
    needed = ["CooperativeMatrixKHR"] * matrices + ["CooperativeVectorNV"] * vectors
    return shader(
        body,
        MATRICES * matrices + VECTORS * vectors + case.get("declarations", ""),
        decorations=case.get("decorations", ""),
        functions=case.get("functions", ""),
        capabilities=(*case.get("capabilities", ()), *needed),
        imports=case.get("imports", ""),
    )


def examined(case: dict[str, Any], text: str) -> Examined:
    """Run the module of a case."""
    given = case.get("input", 256 if "tensor" in case or "decode" in case else 16)
    inputs = (BufferSlot(f"input{i}", 16, False, 0, element=i) for i in range(1, case.get("descriptors", 1)))
    output = BufferSlot("output", case.get("output", 128 if "decode" in case else 64), True, 1)
    slots = (BufferSlot("input", given, False, 0), *inputs, output)
    kernel = Kernel(built(case, text), slots, subgroups=case.get("subgroups", 1), robust=case.get("robust", False))
    observations = Observations()
    limits = replace(LIMITS, steps=10_000)
    device = EmbeddedDevice(replace(load_profile("universal"), subgroup_size=4), observations=observations, limits=limits)
    contents = tuple(np.zeros(slot.bytes, np.uint8) for slot in slots)
    stopped = ""
    try:
        device.run(kernel, [Dispatch(b"", contents, (case.get("workgroups", 1), 1, 1))])
    except DeviceFailure as failure:
        if not case.get("stops"):
            raise
        stopped = f"{failure.verdict}: {failure}"
    return Examined(observations.all(), Left("embedded", None, stopped))


def observed(case: dict[str, Any], text: str) -> tuple[Observation, ...]:
    """Return the observations of a run of the module of a case."""
    return examined(case, text).observations


def test_there_are_a_hundred_of_25_kinds_and_some_of_every_severity() -> None:
    assert len({case["what"] for case in PLANTED}) >= 100
    assert len({case["kind"] for case in PLANTED}) >= 25
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


STOPPING = [case for case in PLANTED if case.get("stops")]
REPORTED = [case for case in PLANTED if not case.get("stops")]


@pytest.mark.parametrize("case", REPORTED, ids=lambda case: case["what"])
def test_a_planted_mistake_is_reported(case: dict[str, Any]) -> None:
    found = observed(case, case["wrong"])
    (one,) = [one for one in found if one.rule in (case["rule"], case.get("may_be"))]
    assert one.severity is Severity[case.get("severity", "UNDEFINED")] or one.rule == case.get("may_be")
    assert one.instruction
    if "invocation" in case:
        assert one.invocation == case["invocation"]


@pytest.mark.parametrize("case", STOPPING, ids=lambda case: case["what"])
def test_a_planted_mistake_that_stops_the_run_is_named(case: dict[str, Any]) -> None:
    assert examined(case, case["wrong"]).left.stopped.startswith(case["rule"])


@pytest.mark.parametrize("case", PLANTED, ids=lambda case: case["what"])
def test_a_shader_without_the_mistake_is_not_blamed(case: dict[str, Any]) -> None:
    assert (found := examined(case, case["right"])).observations == (), found
    assert not found.left.stopped
