"""OpCooperativeMatrixPerElementOpNV: its function's arguments, permitted reads, and results."""

from __future__ import annotations

import numpy as np
import pytest

from cts.embedded.machine.elements import MAPPINGS
from tests.embedded.assembly import shader, words
from tests.embedded.callbacks import APPLY, CAPABILITIES, ENCODE, GIVEN, function, per_element
from tests.embedded.matrices import NUMBERS, SQUARE, load, matrix, store

ROWS, COLUMNS = np.indices((4, 4))


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("integers", ["u32 u32", "s32 s32", "s32 u32"])
def test_a_function_gets_row_column_and_element(result, mapping, integers) -> None:
    got = result(per_element(function(ENCODE, first=f"{integers} u32")), NUMBERS, mapping=mapping).reshape(4, 4)
    assert got.tolist() == (GIVEN * 1000 + ROWS * 10 + COLUMNS).tolist()


def test_each_subgroup_has_its_own_matrix_and_operands(result) -> None:
    body = (
        "%at = OpIMul %u32 %subgroup %u32_16\n"
        + load("square", at="%at")
        + "%by = OpIAdd %u32 %subgroup %u32_5\n"
        + APPLY.format("%by")
        + store("r", at="%at")
    )
    functions = function("%sum = OpIMul %u32 %x %by_f\nOpReturnValue %sum", "u32:by_f")
    module = shader(body, SQUARE, functions=functions, capabilities=CAPABILITIES)
    got = result(module, words(*range(32)), 128, subgroups=2)
    assert got.tolist() == [*(i * 5 for i in range(16)), *(i * 6 for i in range(16, 32))]


def test_only_the_subgroups_that_execute_call(result) -> None:
    body = (
        "%at = OpIMul %u32 %subgroup %u32_16\n"
        + load("square", at="%at")
        + """
%second = OpIEqual %bool %subgroup %u32_1
OpSelectionMerge %merge None
OpBranchConditional %second %call %merge
%call = OpLabel
"""
        + APPLY.format("")
        + store("r", at="%at")
        + "OpBranch %merge\n%merge = OpLabel\n"
    )
    module = shader(body, SQUARE, functions=function(ENCODE), capabilities=CAPABILITIES)
    got = result(module, words(*range(32)), 128, subgroups=2)
    assert got[:16].tolist() == [0] * 16
    assert got[16:].tolist() == [(16 + 4 * r + c) * 1000 + 10 * r + c for r in range(4) for c in range(4)]


def test_a_matrix_of_the_workgroup_is_one(result) -> None:
    whole = matrix("square", "u32", 4, 4, 2, scope=2)
    body = load("square") + APPLY.format("") + store("r")
    got = result(shader(body, whole, functions=function(ENCODE), capabilities=CAPABILITIES), NUMBERS, subgroups=2)
    assert got.reshape(4, 4).tolist() == (GIVEN * 1000 + ROWS * 10 + COLUMNS).tolist()


def test_operands_come_in_order_scalars_vectors_structs_and_matrices(result) -> None:
    declarations = """
%pair = OpTypeStruct %u32 %u32x3
%vector = OpConstantComposite %u32x3 %u32_20 %u32_300 %u32_4000
%struct = OpConstantComposite %pair %u32_1 %vector
"""
    # (3 * column-major twin + scalar) * 10000 + struct member + vector component
    body = """
%last = OpCompositeExtract %u32 %p 1 2
%middle = OpCompositeExtract %u32 %v 1
%three = OpIMul %u32 %twin %u32_3
%plus = OpIAdd %u32 %three %k
%high = OpIMul %u32 %plus %u32_10000
%low = OpIAdd %u32 %last %middle
%all = OpIAdd %u32 %high %low
OpReturnValue %all
"""
    functions = function(body, "u32:k square_element:twin pair:p u32x3:v".replace("square_element", "u32"))
    before = load("square", "twin_m", layout="%u32_1")
    got = result(per_element(functions, "%u32_7 %twin_m %struct %vector", before, declarations), NUMBERS)
    assert got.reshape(4, 4).tolist() == ((3 * GIVEN.T + 7) * 10000 + 4000 + 300).tolist()


def test_calls_diverge_nest_and_have_variables_of_their_own(result) -> None:
    nested = function(
        """
OpStore %kept %deep_x
%odd = OpBitwiseAnd %u32 %deep_x %u32_1
%is_odd = OpIEqual %bool %odd %u32_1
OpSelectionMerge %nested_merge None
OpBranchConditional %is_odd %nested_yes %nested_merge
%nested_yes = OpLabel
%minus = OpISub %u32 %deep_x %u32_1
OpStore %kept %minus
OpBranch %nested_merge
%nested_merge = OpLabel
%left = OpLoad %u32 %kept
OpReturnValue %left
""".replace("OpStore %kept %deep_x", "%kept = OpVariable %ptr_local Function\nOpStore %kept %deep_x", 1),
        "u32:deep_x",
        name="g",
        first="",
    )
    body = """
%low = OpULessThan %bool %column %row
OpSelectionMerge %f_merge None
OpBranchConditional %low %f_yes %f_merge
%f_yes = OpLabel
OpReturnValue %u32_7
%f_merge = OpLabel
%even = OpFunctionCall %u32 %g %x
OpReturnValue %even
"""
    functions = "%ptr_local = OpTypePointer Function %u32\n" + nested + function(body)
    # The same function is called with the invocations' own lanes before and after.
    before = "%own = OpFunctionCall %u32 %g %lane\n"
    got = result(per_element(functions, "", before), NUMBERS).reshape(4, 4)
    assert got.tolist() == np.where(COLUMNS < ROWS, 7, GIVEN & ~1).tolist()


def test_a_function_may_serve_invocations_and_elements(result) -> None:
    body = function(ENCODE)
    diverging = """
%high = OpUGreaterThan %bool %lane %u32_1
OpSelectionMerge %merge None
OpBranchConditional %high %call %merge
%call = OpLabel
%own{0} = OpFunctionCall %u32 %f %lane %u32_3 %u32_2
{1}
OpBranch %merge
%merge = OpLabel
"""
    text = (
        load("square")
        + APPLY.format("")
        + store("r")
        + diverging.format("", "%to = OpIAdd %u32 %lane %u32_16\n%p = OpAccessChain %ptr_out %output %s32_0 %to\nOpStore %p %own")
    )
    got = result(shader(text, SQUARE, functions=body, capabilities=CAPABILITIES), NUMBERS, 80)
    assert got[:16].reshape(4, 4).tolist() == (GIVEN * 1000 + ROWS * 10 + COLUMNS).tolist()
    assert got[16:].tolist() == [0, 0, 2023, 2033]


def test_buffers_and_workgroup_memory_can_be_read(result) -> None:
    body = """
%four = OpIMul %u32 %row %u32_4
%index = OpIAdd %u32 %four %column
%by_name = OpAccessChain %ptr_in %input %s32_0 %index
%twin = OpLoad %u32 %by_name
%in_shared = OpAccessChain %ptr_shared %shared %column
%key = OpLoad %u32 %in_shared NonPrivatePointer|MakePointerVisible %u32_2
%in_output = OpAccessChain %ptr_out %output %s32_0 %u32_20
%given = OpAtomicLoad %u32 %in_output %u32_1 %u32_0
%a = OpIMul %u32 %twin %u32_1000
%b = OpIAdd %u32 %a %key
%c = OpIMul %u32 %given %u32_1000000
%d = OpIAdd %u32 %b %c
OpReturnValue %d
"""
    before = """
%mine = OpAccessChain %ptr_shared %shared %lane
%key_of = OpIAdd %u32 %lane %u32_5
OpStore %mine %key_of NonPrivatePointer|MakePointerAvailable %u32_2
OpControlBarrier %u32_2 %u32_2 %u32_24840
"""
    output = np.full(24, 3, np.uint32).view(np.uint8)
    got = result(per_element(function(body), "", before), NUMBERS, output)[:16]
    assert got.reshape(4, 4).tolist() == (GIVEN * 1000 + COLUMNS + 5 + 3_000_000).tolist()


@pytest.mark.parametrize(
    ("use", "name"),
    [(0, "A"), (1, "B"), (2, "accumulator")],
)
def test_every_use_has_elements(result, use, name) -> None:
    types = matrix("square", "u32", 4, 4, use)
    body = load("square") + APPLY.format("") + store("r")
    got = result(shader(body, types, functions=function(ENCODE), capabilities=CAPABILITIES), NUMBERS).reshape(4, 4)
    assert got.tolist() == (GIVEN * 1000 + ROWS * 10 + COLUMNS).tolist(), name


BUILT_IN = "%gl = OpLoad %u32 %gl_{}\n%sum = OpIAdd %u32 %x %gl\nOpReturnValue %sum"


def test_values_that_all_invocations_agree_on_can_be_read(result) -> None:
    got = result(per_element(function(BUILT_IN.format("SubgroupSize"))), NUMBERS).reshape(4, 4)
    assert got.tolist() == (GIVEN + 4).tolist()
