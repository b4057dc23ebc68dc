"""Workgroup shapes: the requests to the device, and the detection of a device that ignores them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cts.devices.requirements import missing
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.kinds.kernel import arrange
from cts.verdict.codes import Reason
from cts.verdict.compare import compare
from generators.casebook import build, find_case
from generators.dispatch import kernel
from generators.errors import Rule
from generators.glsl.emit import emit as print_glsl
from generators.kernel import Outcome
from generators.program.builder import ProgramBuilder
from generators.program.shape import WorkgroupShape
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from generators.types import Scope
from tests.broken_rules import breaks
from tests.suite import casebook
from tests.undefined import undefined


def case_of(
    form="copy",
    subgroups=4,
    arrangement="yz",
    local_size="constants",
    size="32",
    full="if_possible",
    workgroups="2x3x2",
    storage="storage_buffer",
    built_ins="none",
    scope="subgroup",
):
    row = "16x16x16.f16.f16.f32.f32"
    return find_case(
        casebook(),
        f"workgroup_shapes[row:{row}/scope:{scope}/form:{form}/subgroups:{subgroups}/arrangement:{arrangement}/local_size:{local_size}/subgroup_size:{size}/full:{full}/workgroups:{workgroups}/storage:{storage}/built_ins:{built_ins}]",
    )


def judge(case, change_kernel=lambda k: k, change_dispatch=lambda d: d, change_outcome=lambda o: o):
    """Return whether the embedded device passes a case with a changed kernel, dispatch or outcome."""
    built = build(case)
    program = built.program
    arranged = arrange(built)
    device = EmbeddedDevice(load_profile("universal"))
    outcomes = device.run(change_kernel(kernel(program, emit(program))), [change_dispatch(d) for d in arranged.dispatches])
    return not any(
        compare(program, want, before, change_outcome(outcome))
        for want, before, outcome in zip(arranged.expected, arranged.before, outcomes, strict=True)
    )


@pytest.mark.parametrize("form", ["copy", "muladd"])
@pytest.mark.parametrize("workgroups", ["2x3x2", "1x1x3"])
def test_workgroups_counted_along_other_axes_are_seen(form, workgroups):
    case = case_of(form, workgroups=workgroups)
    assert judge(case)
    assert not judge(case, change_dispatch=lambda d: replace(d, workgroups=(1, 1, 1)))
    assert not judge(case, change_dispatch=lambda d: replace(d, workgroups=(d.workgroups[0], d.workgroups[1], 1)))


def test_a_local_size_of_fewer_invocations_in_y_is_seen():
    def one_in_y(k):
        return replace(k, specialization=tuple(replace(c, value=1) if c.constant_id == 2001 else c for c in k.specialization))

    assert not judge(case_of(), change_kernel=one_in_y)


def test_a_forgotten_specialization_of_the_local_size_is_seen():
    def forget(k):
        return replace(k, specialization=())

    with undefined("KHR-MEM-02"):
        judge(case_of(), change_kernel=forget)


@pytest.mark.parametrize("built_ins", ["first", "last"])
@pytest.mark.parametrize("place", range(4))
def test_a_wrong_built_in_of_one_invocation_is_seen(built_ins, place):
    def spoil(outcome):
        outputs = {name: data.copy() for name, data in outcome.outputs.items()}
        outputs["subgroups"].view(np.uint32)[4 * 37 + place] += 1
        return Outcome(outputs, outcome.stray)

    case = case_of(built_ins=built_ins, workgroups="1x1x1")
    assert judge(case)
    assert not judge(case, change_outcome=spoil)


def test_a_subgroup_size_that_is_not_the_required_one_is_seen():
    case = case_of(built_ins="first", size="64", subgroups=2, arrangement="x", workgroups="1x1x1", local_size="literals")
    assert judge(case)
    with undefined("KHR-MEM-02"):
        judge(case, change_kernel=lambda k: replace(k, required_subgroup_size=32))


def test_workgroup_memory_that_only_the_first_line_of_invocations_fills_is_seen():
    def single_line(k):
        return replace(k, specialization=tuple(replace(c, value=1) for c in k.specialization))

    case = case_of(storage="workgroup", workgroups="1x1x1", subgroups=2, arrangement="y")
    assert judge(case)
    assert not judge(case, change_kernel=single_line)


@pytest.mark.parametrize(
    ("local_size", "mode"),
    [("literals", "LocalSize 32 2 2"), ("constants", "LocalSizeId %local_size %local_size_y %local_size_z"), ("x_constant", "LocalSizeId")],
)
def test_the_local_size_is_declared_as_the_case_asks(local_size, mode):
    program = build(case_of(local_size=local_size)).program
    assert mode in disassemble(emit(program))
    assert ("local_size_x = 32" in print_glsl(program)) == (local_size == "literals")


def test_a_literal_local_size_without_a_subgroup_size_is_refused():
    program = ProgramBuilder(Scope.SUBGROUP, shape=WorkgroupShape(local_size="literals")).build()
    for front_end in (emit, print_glsl):
        with breaks(Rule.SUBGROUP_SIZE):
            front_end(program)


def test_subgroups_that_do_not_fill_the_lines_are_refused():
    with breaks(Rule.WORKGROUP_SHAPE):
        emit(ProgramBuilder(Scope.SUBGROUP, subgroups=3, shape=WorkgroupShape(y=2)).build())


@pytest.mark.parametrize(
    ("size", "changes", "code", "text"),
    [
        ("16", {}, "", ""),
        (
            "16",
            {"limits": {"minSubgroupSize": 32, "maxSubgroupSize": 64}},
            "limit.minSubgroupSize",
            "subgroup size 16 (minSubgroupSize 32, maxSubgroupSize 64)",
        ),
        (
            "128",
            {"limits": {"minSubgroupSize": 32, "maxSubgroupSize": 64}},
            "limit.maxSubgroupSize",
            "subgroup size 128 (minSubgroupSize 32, maxSubgroupSize 64)",
        ),
        ("16", {"limits": {}}, "limit.minSubgroupSize", "subgroup size 16 (minSubgroupSize 32, maxSubgroupSize 32)"),
        (
            "32",
            {"limits": {"requiredSubgroupSizeStages": 0x10}},
            "property.requiredSubgroupSizeStages",
            "requiredSubgroupSizeStages (compute)",
        ),
        (
            "32",
            {"limits": {"maxComputeWorkgroupSubgroups": 3}},
            "limit.maxComputeWorkgroupSubgroups",
            "limit maxComputeWorkgroupSubgroups 3 (needs 4)",
        ),
        (
            "32",
            {"limits": {"maxComputeWorkGroupSize[1]": 1}},
            "limit.maxComputeWorkGroupSize",
            "limit maxComputeWorkGroupSize[1] 1 (needs 2)",
        ),
        (
            "32",
            {"limits": {"maxComputeWorkGroupSize[2]": 1}},
            "limit.maxComputeWorkGroupSize",
            "limit maxComputeWorkGroupSize[2] 1 (needs 2)",
        ),
        ("32", {"without": "subgroupSizeControl"}, "feature.subgroupSizeControl", "feature subgroupSizeControl"),
        ("32", {"without": "computeFullSubgroups"}, "feature.computeFullSubgroups", "feature computeFullSubgroups"),
    ],
)
def test_a_feature_that_a_device_lacks_for_a_shape_is_named(size, changes, code, text):
    description = load_profile("universal").description
    if "limits" in changes:
        stated = {"subgroupSupportedOperations": 1, "requiredSubgroupSizeStages": 0x20}
        description = replace(description, limits=stated | changes["limits"])
    features = {name: name != changes.get("without") for name in description.features}
    program = build(case_of(size=size, full="required")).program
    found = missing(kernel(program, emit(program)), replace(description, features=features))
    assert found == (Reason(f"missing.{code}", text) if code else None)


def test_a_device_that_cannot_require_full_subgroups_runs_the_cases_that_do_not_ask_for_them():
    description = load_profile("universal").description
    features = {name: name != "computeFullSubgroups" for name in description.features}
    for full in ("if_possible", "not_required"):
        program = build(case_of(full=full)).program
        assert missing(kernel(program, emit(program)), replace(description, features=features)) is None
