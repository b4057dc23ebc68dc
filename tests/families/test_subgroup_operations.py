"""Family subgroup_operations on the embedded device: it stops at planted mistakes that make results undefined, or different within a
subgroup."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.kinds.kernel import arrange
from generators.casebook import build, find_case
from generators.dispatch import kernel
from generators.program.control_flow import PerInvocation
from generators.program.subgroup_operations import SubgroupBroadcast, SubgroupReduce, SubgroupShuffle
from generators.program.walking import changed
from generators.spirv.emit import emit
from tests.suite import casebook
from tests.undefined import undefined

DEVICE = EmbeddedDevice(load_profile("universal"))
ROW = "8x8x8.f16.f16.f32.f32"


def run(name, change=None):
    case = find_case(casebook(), f"subgroup_operations[row:{ROW}/subgroup_size:8/{name}]")
    built = build(case)
    program = built.program
    if change is not None:
        program = replace(program, operations=changed(program.operations, lambda one: [change(one)]))
        assert program != built.program
    plan = arrange(built)
    return DEVICE.run(kernel(program, emit(program)), plan.dispatches)


def scanned(operation):
    return replace(operation, group="inclusive") if isinstance(operation, SubgroupReduce) else operation


@pytest.mark.parametrize(
    ("purpose", "rule"),
    [
        ("offset", "KHR-UNI-02"),
        ("stride", "KHR-UNI-02"),
        ("trips", "KHR-UNI-01"),
        ("element", "KHR-UNI-02"),
        ("scale", "KHR-UNI-02"),
        ("splat", "KHR-UNI-02"),
        ("branch", "KHR-UNI-01"),
    ],
)
def test_a_result_that_differs_in_the_subgroup_is_not_an_operand_of_a_matrix(purpose, rule):
    run(f"operation:add/purpose:{purpose}")
    with undefined(rule):
        run(f"operation:add/purpose:{purpose}", scanned)


def test_a_broadcast_from_the_other_half_has_no_value():
    def other(operation):
        return replace(operation, lane=operation.lane ^ 1) if isinstance(operation, SubgroupBroadcast) else operation

    run("operation:broadcast/among:halves")
    with undefined("SPIR-V 3.42.24"):
        run("operation:broadcast/among:halves", other)


def test_a_shuffle_from_the_other_half_has_no_value():
    def near(operation):
        if isinstance(operation, SubgroupShuffle):
            return replace(operation, index=replace(operation.index, name="near", value=1))
        return operation

    run("operation:shuffle_xor/among:halves")
    with undefined("SPIR-V 3.42.24"):
        run("operation:shuffle_xor/among:halves", near)


def test_invocations_that_store_to_the_place_of_others_race():
    """Results that are stored at the lane's index, without the subgroup's number, overwrite results of the other subgroup."""

    def first_instance(operation):
        if isinstance(operation, PerInvocation):
            lane = next(one.result for one in operation.body if getattr(one, "which", None) == "subgroup_invocation")
            stores = [replace(one, index=lane) if type(one).__name__ == "ArrayStore" else one for one in operation.body]
            return replace(operation, body=tuple(stores))
        return operation

    with undefined("KHR-MEM-01"):
        run("operation:add", first_instance)
