"""Tensor layouts and views as values: in variables, functions, phis and copies, and in invocations that diverge."""

from __future__ import annotations

from generators.spirv.enumerants import TensorClampMode as Mode
from tests.embedded.assembly import shader, words
from tests.embedded.tensors import flat, layout, types

SHAPE = (1, 4)
NUMBERS = words(*range(100, 164))
TYPES = types(SHAPE, 1, Mode.Constant)
LINES = ["value 9", "dimension 64"]
STEPS = """
%small = OpTensorLayoutSliceNV %layout %t2 %u32_8 %u32_4
%large = OpTensorLayoutSliceNV %layout %t2 %u32_62 %u32_4
"""
USE = """
%from = OpAccessChain %ptr_in %input %s32_0 %u32_0
%m = OpCooperativeMatrixLoadTensorNV %matrix %from %seven %chosen None None
%first = OpIMul %u32 %subgroup %u32_4
%to = OpAccessChain %ptr_out %output %s32_0 %first
OpCooperativeMatrixStoreTensorNV %to %m %flat1 None None
"""
SMALL, LARGE = [108, 109, 110, 111], [162, 163, 9, 9]


def module(body: str, declarations: str = "", functions: str = "") -> bytes:
    return shader(flat(SHAPE) + layout(LINES) + STEPS + body + USE, TYPES + declarations, functions=functions)


def branch(condition: str, yes: str = "", no: str = "") -> str:
    return f"""
{condition}
OpSelectionMerge %merge None
OpBranchConditional %is %yes %no
%yes = OpLabel
{yes}
OpBranch %merge
%no = OpLabel
{no}
OpBranch %merge
%merge = OpLabel
"""


FIRST_SUBGROUP = "%is = OpIEqual %bool %subgroup %u32_0"
SOME_LANES = "%is = OpULessThan %bool %lane %u32_2"
PHI = "%chosen = OpPhi %layout %small %yes %large %no\n"


def test_a_phi_of_layouts_where_subgroups_diverge(result) -> None:
    got = result(module(branch(FIRST_SUBGROUP) + PHI), NUMBERS, 32, subgroups=2)
    assert got.reshape(2, 4).tolist() == [SMALL, LARGE]


def test_a_phi_of_layouts_that_differ_within_a_subgroup(forbidden) -> None:
    assert forbidden(module(branch(SOME_LANES) + PHI), NUMBERS, 32).rule == "CM2-LT-05"


def test_a_variable_that_each_subgroup_sets_in_its_own_branch(result, forbidden) -> None:
    pointer = "%ptr_layout = OpTypePointer Function %layout\n"
    load = "%chosen = OpLoad %layout %variable\n"
    stores = "OpStore %variable %small", "OpStore %variable %large"
    declared = "%variable = OpVariable %ptr_layout Function\n"
    got = result(module(declared + branch(FIRST_SUBGROUP, *stores) + load, pointer), NUMBERS, 32, subgroups=2)
    assert got.reshape(2, 4).tolist() == [SMALL, LARGE]
    assert "undefined" in str(forbidden(module(declared + branch(FIRST_SUBGROUP, stores[0]) + load, pointer), NUMBERS, 32, subgroups=2))
    assert "undefined" in str(forbidden(module(declared + load, pointer), NUMBERS, 32))


def test_a_function_that_takes_and_returns_a_layout(result) -> None:
    function = """
%onward = OpFunction %layout None %layout_function
%given = OpFunctionParameter %layout
%by = OpFunctionParameter %u32
%body = OpLabel
%more = OpTensorLayoutSliceNV %layout %given %by %u32_4
%copy = OpCopyObject %layout %more
OpReturnValue %copy
OpFunctionEnd
"""
    call = "%eight = OpFunctionCall %layout %onward %t2 %u32_5\n%chosen = OpFunctionCall %layout %onward %eight %u32_4294967294\n"
    got = result(module(call, "%layout_function = OpTypeFunction %layout %layout %u32\n", function), NUMBERS, 16)
    assert got.tolist() == [103, 104, 105, 106]


def test_a_loop_over_slices_that_ends_at_another_time_in_each_subgroup(result) -> None:
    loop = """
%many = OpIAdd %u32 %subgroup %u32_1
OpBranch %head
%head = OpLabel
%i = OpPhi %u32 %u32_0 %entry %next %latch
%chosen = OpPhi %layout %small %entry %moved %latch
%again = OpULessThan %bool %i %many
OpLoopMerge %done %latch None
OpBranchConditional %again %latch %done
%latch = OpLabel
%moved = OpTensorLayoutSliceNV %layout %chosen %u32_10 %u32_4
%next = OpIAdd %u32 %i %u32_1
OpBranch %head
%done = OpLabel
"""
    got = result(module(loop), NUMBERS, 64, subgroups=4)
    assert got.reshape(4, 4).tolist() == [[100 + 8 + 10 * n + c for c in range(4)] for n in range(1, 5)]


def test_layouts_in_an_array(result) -> None:
    declarations = (
        "%two = OpTypeArray %layout %u32_2\n%ptr_two = OpTypePointer Function %two\n%ptr_layout = OpTypePointer Function %layout\n"
    )
    body = """
%both = OpVariable %ptr_two Function
%at0 = OpAccessChain %ptr_layout %both %u32_0
OpStore %at0 %small
%at1 = OpAccessChain %ptr_layout %both %u32_1
OpStore %at1 %large
%at = OpAccessChain %ptr_layout %both %subgroup
%chosen = OpLoad %layout %at
"""
    assert result(module(body, declarations), NUMBERS, 32, subgroups=2).reshape(2, 4).tolist() == [SMALL, LARGE]
