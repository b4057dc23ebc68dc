"""Matrices of SPV_NV_cooperative_matrix, which have no use, alone and together with matrices of SPV_KHR_cooperative_matrix."""

from __future__ import annotations

import numpy as np
import pytest

from tests.embedded.assembly import shader, words

CAPABILITIES = ("CooperativeMatrixNV", "CooperativeMatrixKHR", "Int8")
TYPES = """
%narrow_matrix = OpTypeCooperativeMatrixNV %{narrow} %u32_3 %u32_4 %u32_4
%matrix = OpTypeCooperativeMatrixNV %{wide} %u32_3 %u32_4 %u32_4
%khr_matrix = OpTypeCooperativeMatrixKHR %u32 %u32_3 %u32_4 %u32_4 %u32_2
%zeros = OpConstantNull %matrix
"""
LOAD = """
%from = OpAccessChain %ptr_in %input %s32_0 %s32_0
%to = OpAccessChain %ptr_out %output %s32_0 %s32_0
%a = OpCooperativeMatrixLoadNV %narrow_matrix %from %u32_4 {by_columns}
"""
MULTIPLY = "%d = OpCooperativeMatrixMulAddNV %matrix %a %a %zeros\n"
STORE = "OpCooperativeMatrixStoreNV %to %d %u32_4 %false\n"
COUNT = np.arange(16).reshape(4, 4)


def module(body: str, by_columns: str = "%false", narrow: str = "u32", wide: str = "u32") -> bytes:
    return shader(LOAD.format(by_columns=by_columns) + body, TYPES.format(narrow=narrow, wide=wide), capabilities=CAPABILITIES)


@pytest.mark.parametrize(("by_columns", "a"), [("%false", COUNT), ("%true", COUNT.T)])
def test_a_product_of_integers(by_columns, a, result) -> None:
    found = result(module(MULTIPLY + STORE, by_columns), words(*range(16)))
    assert found.reshape(4, 4).tolist() == (a @ a).tolist()


def test_components_and_arithmetic(result) -> None:
    body = """
%kept = OpVariable %ptr_kept Function
OpStore %kept %a
%length = OpCooperativeMatrixLengthNV %u32 %matrix
%first = OpAccessChain %ptr_component %kept %u32_0
%component = OpLoad %u32 %first
%more = OpIAdd %u32 %component %length
OpStore %first %more
%changed = OpLoad %matrix %kept
%d = OpIAdd %matrix %changed %a
"""
    declared = "%ptr_kept = OpTypePointer Function %matrix\n%ptr_component = OpTypePointer Function %u32"
    types = TYPES.format(narrow="u32", wide="u32") + declared
    found = result(shader(LOAD.format(by_columns="%false") + body + STORE, types, capabilities=CAPABILITIES), words(*range(16)))
    assert found.tolist() == [2 * i + (4 if i < 4 else 0) for i in range(16)]


def test_a_matrix_of_the_other_extension_beside_it(result) -> None:
    body = """
%other = OpCooperativeMatrixLoadKHR %khr_matrix %from %u32_1 %u32_4
OpCooperativeMatrixStoreKHR %to %other %u32_0 %u32_4
"""
    assert result(module(body), words(*range(16))).tolist() == COUNT.T.ravel().tolist()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (MULTIPLY.replace("%zeros", "%lane"), "operand C is not a cooperative matrix"),
        ("%k = OpUndef %khr_matrix\n%d = OpCooperativeMatrixMulAddNV %khr_matrix %k %k %k\n", "is a matrix of SPV_KHR_cooperative_matrix"),
        (MULTIPLY.replace("MulAddNV", "MulAddKHR"), "have the uses none, none, none, none"),
    ],
)
def test_operands_that_do_not_fit_are_refused(body, told, forbidden) -> None:
    assert told in str(forbidden(module(body)))


def test_a_sum_that_leaves_the_range_is_undefined(forbidden) -> None:
    assert "too large for a 4x4 u32 matrix" in str(forbidden(module(MULTIPLY + STORE), words(*[1 << 17] * 16)))
