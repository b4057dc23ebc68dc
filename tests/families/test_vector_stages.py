"""Cases of vector_stages pass if an implementation runs invocations again, and show devices that confuse invocations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import Faults
from cts.embedded.profile import load_profile
from cts.kinds.kernel import arrange, compile_module
from cts.verdict.verdict import Verdict
from generators.casebook import build, find_case
from generators.dispatch import kernel
from generators.spirv.enumerants import Op
from generators.spirv.reader import HEADER_WORDS, read_instructions
from generators.stages import Draw
from tests.broken_devices.doubles import Broken, verdict_on
from tests.broken_devices.smoke import fails
from tests.suite import casebook

CASES = [
    "vector_stages[stage:fragment/operation:copy]",
    "vector_stages[stage:vertex/operation:chain/invocations:33]",
    "vector_stages[stage:fragment/operation:multiply/control:branches/invocations:33]",
    "vector_stages[stage:fragment/operation:outer_product/control:branches/invocations:33]",
    "vector_stages[stage:vertex/operation:reduce_sum]",
    "vector_stages[stage:raygen/operation:outer_product]",
]


@pytest.mark.parametrize("case_id", CASES)
def test_invocations_that_run_again_change_nothing(case_id: str) -> None:
    built = build(find_case(casebook(), case_id))
    plan = arrange(built)
    made = kernel(built.program, compile_module(built.program, "spirv"))
    device = EmbeddedDevice(load_profile("universal"))
    for once, dispatch in zip(device.run(made, plan.dispatches), plan.dispatches, strict=True):
        given = zip(made.buffers, dispatch.contents, strict=True)
        again = replace(dispatch, contents=tuple(once.outputs.get(slot.name, contents) for slot, contents in given))
        (twice,) = device.run(made, [again])
        for name, contents in once.outputs.items():
            np.testing.assert_array_equal(twice.outputs[name], contents, name)


def nothing_done(_):
    return lambda *_: lambda: None


@pytest.mark.parametrize(
    "case_id",
    [
        "vector_stages[stage:fragment/operation:copy/size:13x4/invocations:7/demotes:first]",
        "vector_stages[stage:fragment/operation:multiply/layout:inferencing/invocations:64/demotes:first]",
        "vector_stages[stage:fragment/operation:outer_product/demotes:last]",
        "vector_stages[stage:fragment/operation:reduce_sum/demotes:last]",
    ],
)
def test_a_device_whose_helper_invocations_write_memory_fails(case_id: str) -> None:
    device = EmbeddedDevice(load_profile("universal"), faults=Faults({Op.DemoteToHelperInvocation: nothing_done}))
    assert verdict_on(case_id, device) is Verdict.FAIL


def going_on(module: bytes) -> bytes:
    """Return the module with a branch to the end of the selection in place of each OpKill."""
    merge, words = 0, list[int]()
    for one in read_instructions(module):
        merge = one.operands[0] if one.op is Op.SelectionMerge else merge
        op, operands = (Op.Branch, (merge,)) if one.op is Op.Kill else (one.op, one.operands)
        words += [int(op) | len(operands) + 1 << 16, *operands]
    return module[: 4 * HEADER_WORDS] + np.array(words, np.uint32).tobytes()


@pytest.mark.parametrize("operation", ["outer_product", "reduce_sum"])
def test_a_device_that_discards_no_fragments_fails(operation: str) -> None:
    case_id = f"vector_stages[stage:fragment/operation:{operation}/invocations:7/discards:before]"
    assert not fails(case_id, Broken())
    assert fails(case_id, Broken(module=going_on))


def storing_nothing(_):
    return lambda *_: lambda: None


@pytest.mark.parametrize(
    "case_id",
    [
        "vector_stages[stage:fragment/operation:copy/invocations:7]",
        "vector_stages[stage:fragment/operation:multiply/control:branches/invocations:33]",
        "vector_stages[stage:fragment/operation:outer_product/control:branches/invocations:33]",
        "vector_stages[stage:fragment/operation:chain/control:loop/invocations:33]",
    ],
)
def test_helper_invocations_read_inside_of_arrays(case_id: str) -> None:
    """The loads of helper invocations, which fill quads outside the viewport, must also stay in bounds."""
    built = build(find_case(casebook(), case_id))
    made = kernel(built.program, compile_module(built.program, "spirv"))
    assert made.draw is not None
    quads = Draw("fragment", made.draw.width + made.draw.width % 2, made.draw.height + made.draw.height % 2)
    assert quads != made.draw
    # Stores of a helper invocation have no effect.
    device = EmbeddedDevice(load_profile("universal"), faults=Faults({Op.CooperativeVectorStoreNV: storing_nothing}))
    device.run(replace(made, draw=quads), arrange(built).dispatches)


def swapped_axes(module: bytes) -> bytes:
    """Return the module with the two components of FragCoord exchanged; these are the first components that it extracts."""
    words = np.frombuffer(module, np.uint32).copy()
    extracts = np.flatnonzero(words == (5 << 16 | Op.CompositeExtract))[:2]
    words[extracts + 4] = words[extracts + 4][::-1]
    return words.tobytes()


@pytest.mark.parametrize("case_id", [CASES[0], CASES[2], CASES[3]])
def test_a_device_that_exchanges_the_axes_of_fragments_fails(case_id: str) -> None:
    assert verdict_on(case_id, Broken()) is Verdict.PASS
    assert verdict_on(case_id, Broken(module=swapped_axes)) is Verdict.FAIL


def number_of_another_axis(module: bytes) -> bytes:
    """Return the module with component y of LaunchId, which is always 0, in the place of x; this is the first component it extracts."""
    words = np.frombuffer(module, np.uint32).copy()
    words[np.flatnonzero(words == (5 << 16 | Op.CompositeExtract))[0] + 4] = 1
    return words.tobytes()


@pytest.mark.parametrize("operation", ["multiply/control:branches/invocations:33", "outer_product", "reduce_sum"])
def test_a_device_that_gives_all_ray_generation_shaders_one_number_fails(operation: str) -> None:
    case_id = f"vector_stages[stage:raygen/operation:{operation}]"
    assert verdict_on(case_id, Broken()) is Verdict.PASS
    assert verdict_on(case_id, Broken(module=number_of_another_axis)) is Verdict.FAIL
