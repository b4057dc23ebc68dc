"""Devices with the mistakes that reports about drivers describe: each needs a form of shader that few suites have."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from cts.devices.device import DeviceFailure
from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import Faults
from cts.embedded.module.translation import null
from cts.embedded.profile import load_profile
from cts.embedded.types.spirv_types import Array, Struct
from cts.verdict.verdict import Verdict
from generators.kernel import Dispatch, Kernel, Outcome
from generators.spirv.enumerants import Op, StorageClass
from generators.spirv.reader import HEADER_WORDS, read_instructions
from tests.broken_devices.doubles import Broken, verdict_on
from tests.broken_devices.null_device import unchanged
from tests.broken_devices.smoke import fails, noticed, smoke_cases, wrong
from tests.broken_devices.test_arrays_and_groups import nightly

TODAY = ("llvmpipe", "nvidia-h200")


def smoke(family: str, *parts: str) -> list[str]:
    """Return the ids of a family's smoke cases that contain all parts."""
    found = [case.id for case in smoke_cases(family) if all(part in case.id for part in parts)]
    assert found
    return found


def from_the_first_byte(_: Kernel, dispatch: Dispatch) -> Dispatch:
    """Begin the range of push constants at the first member instead of the last one, which alone is read."""
    pushed = dispatch.push_constants
    return replace(dispatch, push_constants=pushed[:-4] + pushed[:4])


@pytest.mark.parametrize("id_", smoke("construction", "/unread:"))
def test_push_constants_from_the_start_of_their_block(id_: str) -> None:
    assert not fails(id_, Broken())
    assert fails(id_, Broken(contents=from_the_first_byte))


def ones(value: Any) -> Any:
    """Return a value of the same shape whose numbers are all 1."""
    return tuple(map(ones, value)) if isinstance(value, tuple) else np.ones_like(value)


@pytest.mark.parametrize("profile", TODAY)
@pytest.mark.parametrize(("type_", "holder"), [(Array, "array"), (Struct, "struct")])
@pytest.mark.parametrize("storage", ["function", "private"])
def test_null_of_what_holds_matrices(profile: str, type_: type, holder: str, storage: str) -> None:
    def fault(right: Callable[..., Any]) -> Callable[..., Any]:
        return lambda translation, of: ones(right(translation, of)) if isinstance(of, type_) else right(translation, of)

    assert noticed("construction", wrong(profile, Faults(operations={null: fault})), origin="null", holder=f"{storage}_{holder}")


class WithoutStructs(EmbeddedDevice):
    """A device on which no shader runs that has a struct with a matrix."""

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        matrices: set[int] = set()
        for one in read_instructions(kernel.spirv):
            if one.op is Op.TypeCooperativeMatrixKHR or (one.op in (Op.TypeStruct, Op.TypeArray) and matrices & set(one.operands[1:])):
                if one.op is Op.TypeStruct:
                    return [unchanged(kernel, dispatch) for dispatch in dispatches]
                matrices.add(one.operands[0])
        return super().run(kernel, dispatches)


@pytest.mark.parametrize("profile", ["intel-xe2", "intel-xe-hpg"])
def test_structs_that_crash_with_the_rows_of_one_vendor(profile: str) -> None:
    device = WithoutStructs(load_profile(profile), strict=False)
    assert sum(fails(case.id, device) for case in nightly("aggregates") if "struct" in case.id) >= 5


def with_wrong_variable(module: bytes) -> bytes:
    """Return a module with several switches that takes another variable, or exchanges the operands of two phis, after the last of them."""
    instructions = list(read_instructions(module))
    merges = [before.operands[0] for before, one in pairwise(instructions) if one.op is Op.Switch][1:]
    variables: dict[int, list[int]] = {}
    for one in instructions:
        if one.op is Op.Variable:
            variables.setdefault(one.operands[0], []).append(one.operands[1])
    block, words, phi = 0, list[int](), list[int]()
    for one in instructions:
        operands = list(one.operands)
        if one.op is Op.Label:
            block, phi = operands[0], []
        elif block == merges[-1] and one.op is Op.Phi:
            if phi and words[phi[0]] == operands[0]:
                operands[2::2], words[phi[0] + 2 : phi[1] : 2] = words[phi[0] + 2 : phi[1] : 2], operands[2::2]
                phi = []
            else:
                phi = [len(words) + 1, len(words) + 1 + len(operands)]
        elif block == merges[-1] and one.op is Op.Load:
            others = next((found for found in variables.values() if operands[2] in found), [operands[2]])
            operands[2] = others[others.index(operands[2]) - 1]
        words += [int(one.op) | len(operands) + 1 << 16, *operands]
    return module[: 4 * HEADER_WORDS] + struct.pack(f"<{len(words)}I", *words)


@pytest.mark.parametrize(
    ("family", "form"),
    [
        ("control_flow", "two_switches"),
        ("control_flow", "nested_switch"),
        ("control_flow", "switch_in_loop"),
        ("control_flow_variables", "nested_switch"),
    ],
)
def test_the_wrong_variable_after_several_switches(family: str, form: str) -> None:
    assert any(fails(id_, Broken(module=with_wrong_variable)) for id_ in smoke(family, f"form:{form}"))


def in_the_first_row(handler: Any) -> Any:
    """Take the first index of a pointer into an array in workgroup memory as 0 if there are further ones."""

    def broken(translation: Any, words: Any) -> Any:
        run, values = handler(translation, words), translation.values
        if translation.storage(words[2]) is not StorageClass.Workgroup or len(words) < 5:
            return run

        def execute() -> Any:
            given = values[words[3]]
            values[words[3]] = np.zeros_like(given)
            try:
                return run()
            finally:
                values[words[3]] = given

        return execute

    return broken


@pytest.mark.parametrize("profile", TODAY)
def test_pointers_into_the_first_row_of_workgroup_memory(profile: str) -> None:
    device = wrong(profile, Faults({Op.AccessChain: in_the_first_row}))
    assert noticed("load_store", device, load_storage="workgroup", nesting="row", subgroups=("2", "4"))


class LosingRays(Broken):
    """A device that is lost in a ray generation shader, and in any shader after one in its submission."""

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        if kernel.preceding == "raygen" or (kernel.draw is not None and kernel.draw.stage == "raygen"):
            raise DeviceFailure("lost")
        return super().run(kernel, dispatches)


@pytest.mark.parametrize("part", ["stage:raygen", "before:raygen"])
def test_devices_lost_in_and_after_ray_tracing_pipelines(part: str) -> None:
    for id_ in smoke("vector_stages", part):
        assert not fails(id_, Broken())
        assert verdict_on(id_, LosingRays()) is not Verdict.PASS, id_
