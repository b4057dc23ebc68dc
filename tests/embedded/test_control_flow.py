"""Divergence, reconvergence, phis, loops, switches, calls."""

from __future__ import annotations

import numpy as np
import pytest

from cts.devices.device import DeviceTimeout, Step
from cts.embedded.types.limits import Limits
from tests.embedded.assembly import shader, store
from tests.embedded.conftest import run


def test_invocations_that_diverge_meet_again_with_their_own_values(result) -> None:
    body = f"""
%odd = OpBitwiseAnd %u32 %lane %u32_1
%is_odd = OpIEqual %bool %odd %u32_1
OpSelectionMerge %merge None
OpBranchConditional %is_odd %yes %no
%yes = OpLabel
%a = OpIMul %u32 %lane %u32_10
OpBranch %merge
%no = OpLabel
%b = OpIAdd %u32 %lane %u32_100
OpBranch %merge
%merge = OpLabel
%value = OpPhi %u32 %a %yes %b %no
{store("%value")}
"""
    assert result(shader(body))[:4].tolist() == [100, 10, 102, 30]


def test_a_uniform_branch_runs_one_side_only(result) -> None:
    body = f"""
OpSelectionMerge %merge None
OpBranchConditional %false %yes %merge
%yes = OpLabel
%impossible = OpUDiv %u32 %u32_1 %u32_0
OpBranch %merge
%merge = OpLabel
{store("%lane")}
"""
    assert result(shader(body))[:4].tolist() == [0, 1, 2, 3]


LOOP = f"""
OpBranch %header
%header = OpLabel
%i = OpPhi %u32 %u32_0 %entry %next %proceed
%sum = OpPhi %u32 %u32_0 %entry %more %proceed
OpLoopMerge %done %proceed None
%again = OpULessThan %bool %i %lane
OpBranchConditional %again %inside %done
%inside = OpLabel
%more = OpIAdd %u32 %sum %i
OpBranch %proceed
%proceed = OpLabel
%next = OpIAdd %u32 %i %u32_1
OpBranch %header
%done = OpLabel
{store("%sum")}
"""


def test_invocations_leave_a_loop_at_different_times_and_keep_their_values(result) -> None:
    assert result(shader(LOOP), subgroups=2, output=32).tolist() == [0, 0, 1, 3, 6, 10, 15, 21]


def test_break_and_continue(result) -> None:
    body = f"""
OpBranch %header
%header = OpLabel
%i = OpPhi %u32 %u32_0 %entry %next %proceed
%sum = OpPhi %u32 %u32_0 %entry %kept %proceed
OpLoopMerge %done %proceed None
OpBranch %first
%first = OpLabel
%leave = OpUGreaterThan %bool %i %lane
OpSelectionMerge %stay None
OpBranchConditional %leave %done %stay
%stay = OpLabel
%odd = OpBitwiseAnd %u32 %i %u32_1
%skip = OpIEqual %bool %odd %u32_1
OpSelectionMerge %count None
OpBranchConditional %skip %proceed %count
%count = OpLabel
%more = OpIAdd %u32 %sum %u32_1
OpBranch %proceed
%proceed = OpLabel
%kept = OpPhi %u32 %sum %stay %more %count
%next = OpIAdd %u32 %i %u32_1
OpBranch %header
%done = OpLabel
{store("%sum")}
"""
    assert result(shader(body), output=16).tolist() == [1, 1, 2, 2]


def test_switch_with_a_default_and_fall_through(result) -> None:
    body = f"""
OpSelectionMerge %merge None
OpSwitch %lane %other 1 %one 3 %three
%other = OpLabel
OpBranch %merge
%one = OpLabel
OpBranch %three
%three = OpLabel
%from = OpPhi %u32 %u32_20 %one %u32_30 %entry
OpBranch %merge
%merge = OpLabel
%value = OpPhi %u32 %u32_7 %other %from %three
{store("%value")}
"""
    assert result(shader(body), output=16).tolist() == [7, 20, 7, 30]


def test_an_invocation_that_returns_early_stores_nothing_more(result) -> None:
    body = f"""
%leave = OpIEqual %bool %lane %u32_2
OpSelectionMerge %merge None
OpBranchConditional %leave %gone %merge
%gone = OpLabel
OpReturn
%merge = OpLabel
{store("%u32_9")}
"""
    assert result(shader(body), output=16).tolist() == [9, 9, 0, 9]


FUNCTIONS = """
%ptr_local = OpTypePointer Function %u32
%function_type = OpTypeFunction %u32 %u32 %ptr_local
%choose = OpFunction %u32 None %function_type
%x = OpFunctionParameter %u32
%out = OpFunctionParameter %ptr_local
%choose_entry = OpLabel
%twice = OpIMul %u32 %x %u32_2
OpStore %out %twice
%small = OpULessThan %bool %x %u32_2
OpSelectionMerge %choose_merge None
OpBranchConditional %small %low %choose_merge
%low = OpLabel
OpReturnValue %u32_50
%choose_merge = OpLabel
OpReturnValue %x
OpFunctionEnd
"""


def test_a_call_returns_from_several_places_and_writes_through_a_pointer(result) -> None:
    body = f"""
%written = OpVariable %ptr_local Function
%value = OpFunctionCall %u32 %choose %lane %written
%doubled = OpLoad %u32 %written
%both = OpIAdd %u32 %value %doubled
{store("%both")}
"""
    assert result(shader(body, functions=FUNCTIONS), output=16).tolist() == [50, 52, 6, 9]


def test_a_call_by_some_invocations_leaves_the_others_alone(result) -> None:
    body = f"""
%written = OpVariable %ptr_local Function
OpStore %written %u32_1
%high = OpUGreaterThan %bool %lane %u32_1
OpSelectionMerge %merge None
OpBranchConditional %high %call %merge
%call = OpLabel
%value = OpFunctionCall %u32 %choose %lane %written
OpBranch %merge
%merge = OpLabel
%kept = OpLoad %u32 %written
{store("%kept")}
"""
    assert result(shader(body, functions=FUNCTIONS), output=16).tolist() == [1, 1, 4, 6]


def _pair_of_some(read_by: str) -> bytes:
    """Build code in which invocations 2 and 3 write a vector to a variable; the invocations of ``read_by`` load all of it and store a
    component."""
    body = f"""
%pair = OpVariable %ptr_pair Function
%high = OpUGreaterThan %bool %lane %u32_1
OpSelectionMerge %written None
OpBranchConditional %high %write %written
%write = OpLabel
%made = OpCompositeConstruct %u32x2 %lane %u32_7
OpStore %pair %made
OpBranch %written
%written = OpLabel
%reads = {read_by}
OpSelectionMerge %merge None
OpBranchConditional %reads %read %merge
%read = OpLabel
%whole = OpLoad %u32x2 %pair
%first = OpCompositeExtract %u32 %whole 0
{store("%first")}
OpBranch %merge
%merge = OpLabel
"""
    return shader(body, declarations="%u32x2 = OpTypeVector %u32 2\n%ptr_pair = OpTypePointer Function %u32x2")


def test_a_vector_that_some_invocations_have_is_defined_for_them(forbidden) -> None:
    found = run(_pair_of_some("OpUGreaterThan %bool %lane %u32_1"), output=16).outputs["output"].view(np.uint32)
    assert found.tolist()[2:] == [2, 3]
    assert "undefined value" in str(forbidden(_pair_of_some("OpUGreaterThan %bool %lane %u32_0")))


def test_unreachable_is_not_reached(forbidden) -> None:
    body = """
OpSelectionMerge %merge None
OpBranchConditional %true %yes %merge
%yes = OpLabel
OpUnreachable
%merge = OpLabel
"""
    assert "OpUnreachable" in str(forbidden(shader(body)))


def test_a_kernel_that_does_not_end_times_out(result) -> None:
    body = """
OpBranch %header
%header = OpLabel
OpLoopMerge %done %header None
OpBranchConditional %true %header %done
%done = OpLabel
"""
    with pytest.raises(DeviceTimeout) as timeout:
        result(shader(body), limits=Limits(steps=100))
    assert timeout.value.step is Step.DISPATCH
