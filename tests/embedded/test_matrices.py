"""Cooperative matrices: memory, components and componentwise arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cts.embedded.instructions.matrices.load_store import element_offsets
from cts.embedded.machine.elements import MAPPINGS, NO_ELEMENT, component_counts, element_table
from tests.embedded.assembly import shader, words
from tests.embedded.matrices import COLUMN, NUMBERS, ROW, SQUARE, load, matrix, store


def test_load_and_store_in_each_layout(result) -> None:
    numbers = np.arange(100, 116).reshape(4, 4)
    for from_, to in ((ROW, ROW), (ROW, COLUMN), (COLUMN, ROW), (COLUMN, COLUMN)):
        got = result(shader(load("square", layout=from_) + store(layout=to), SQUARE), NUMBERS)
        assert got.reshape(4, 4).tolist() == (numbers if from_ == to else numbers.T).tolist()


def test_a_stride_counts_the_pointee_and_padding_is_left_alone(result) -> None:
    bytes_ = matrix("bytes", "u8", 4, 8, 0)
    body = load("bytes", stride="%u32_2") + store(stride="%u32_4")
    given = np.arange(32, dtype=np.uint8)
    got = result(shader(body, bytes_), given, np.full(64, 0xEE, np.uint8), dtype=np.uint8).reshape(4, 16)
    assert got[:, :8].tolist() == given.reshape(4, 8).tolist()
    assert (got[:, 8:] == 0xEE).all()


def test_stride_zero_repeats_a_row(result) -> None:
    got = result(shader(load("square", stride="%u32_0") + store(), SQUARE), NUMBERS)
    assert got.reshape(4, 4).tolist() == [[100, 101, 102, 103]] * 4


@given(st.integers(1, 6), st.integers(1, 6), st.booleans(), st.integers(0, 40), st.sampled_from([1, 2, 4, 8]))
def test_element_offsets_follow_the_layout(rows, columns, row_major, stride, size) -> None:
    offsets = element_offsets(rows, columns, row_major, stride, size)
    for r in range(rows):
        for c in range(columns):
            assert offsets[r, c] == (r * stride + c * size if row_major else c * stride + r * size)


@pytest.mark.parametrize("mapping", MAPPINGS)
@given(rows=st.integers(1, 9), columns=st.integers(1, 9), lanes=st.sampled_from([1, 2, 4, 8, 32]))
def test_a_mapping_gives_each_element_to_one_invocation(mapping, rows, columns, lanes) -> None:
    table = element_table(mapping, rows, columns, lanes)
    assert sorted(table[table != NO_ELEMENT].tolist()) == list(range(rows * columns))
    counts = component_counts(mapping, rows, columns, lanes)
    for lane in range(lanes):
        assert (table[: counts[lane], lane] != NO_ELEMENT).all(), "components are numbered without gaps"


def element_loop(body: str) -> str:
    """Build a loop that runs ``body`` for each component ``%i`` of the variable ``%v``."""
    return f"""
%length = OpCooperativeMatrixLengthKHR %u32 %square
OpBranch %header
%header = OpLabel
%i = OpPhi %u32 %u32_0 %entry %next %proceed
OpLoopMerge %done %proceed None
%again = OpULessThan %bool %i %length
OpBranchConditional %again %inside %done
%inside = OpLabel
%component = OpAccessChain %ptr_component %v %i
{body}
OpBranch %proceed
%proceed = OpLabel
%next = OpIAdd %u32 %i %u32_1
OpBranch %header
%done = OpLabel
"""


VARIABLE = "%v = OpVariable %ptr_square Function\n"
POINTERS = "%ptr_square = OpTypePointer Function %square\n%ptr_component = OpTypePointer Function %u32\n"


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (3, 2), (8, 4)])
def test_components_of_all_invocations_make_up_the_matrix(result, mapping, rows, columns) -> None:
    declarations = matrix("square", "u32", rows, columns, 2) + POINTERS
    body = VARIABLE + load("square", stride=f"%u32_{columns}") + "OpStore %v %m\n"
    body += element_loop("%old = OpLoad %u32 %component\n%new = OpIMul %u32 %old %u32_3\nOpStore %component %new")
    body += "%changed = OpLoad %square %v\n" + store("changed", stride=f"%u32_{columns}")
    given = np.arange(rows * columns, dtype=np.uint32)
    got = result(shader(body, declarations), given.view(np.uint8), 4 * rows * columns, subgroups=1, mapping=mapping)
    assert got.tolist() == (given * 3).tolist()


def test_a_matrix_is_undefined_until_each_component_is_written(forbidden, result) -> None:
    body = VARIABLE + element_loop("OpStore %component %lane") + "%m = OpLoad %square %v\n" + store()
    assert set(result(shader(body, SQUARE + POINTERS)).tolist()) == {0, 1, 2, 3}
    one = VARIABLE + "%component = OpAccessChain %ptr_component %v %u32_1\nOpStore %component %lane\n%m = OpLoad %square %v\n" + store()
    assert "undefined" in str(forbidden(shader(one, SQUARE + POINTERS)))


def test_extract_and_insert_act_on_the_own_component(result) -> None:
    body = (
        load("square")
        + "%x = OpCompositeExtract %u32 %m 2\n%y = OpIAdd %u32 %x %u32_1000\n%n = OpCompositeInsert %square %y %m 2\n"
        + store("n")
    )
    got = result(shader(body, SQUARE), NUMBERS)
    assert got.tolist() == [100 + i + (1000 if 8 <= i < 12 else 0) for i in range(16)]


def test_a_component_beyond_the_length(forbidden) -> None:
    assert forbidden(shader(load("square") + "%x = OpCompositeExtract %u32 %m 4\n", SQUARE), NUMBERS).rule == "KHR-LEN-02"


def test_constants_null_and_splat(result) -> None:
    declarations = SQUARE + "%sevens = OpConstantComposite %square %u32_7\n%null = OpConstantNull %square\n"
    assert set(result(shader(store("sevens"), declarations)).tolist()) == {7}
    assert set(result(shader(store("null"), declarations), output=np.full(64, 9, np.uint8)).tolist()) == {0}
    assert set(result(shader("%m = OpCompositeConstruct %square %subgroup\n" + store(), SQUARE)).tolist()) == {0}


def test_arithmetic_and_conversion_by_component(result) -> None:
    signed = matrix("other", "s32", 4, 4, 2)
    body = load("square") + "%n = OpIAdd %square %m %m\n%k = OpSNegate %square %n\n%x = OpMatrixTimesScalar %square %k %u32_3\n"
    body += "%z = OpBitcast %other %x\n" + store("z")
    assert result(shader(body, SQUARE + signed), NUMBERS, dtype=np.int32).tolist() == [-6 * (100 + i) for i in range(16)]


def test_a_matrix_division_by_zero(forbidden) -> None:
    body = load("square") + "%null_m = OpISub %square %m %m\n%n = OpUDiv %square %m %null_m\n"
    assert "division by zero" in str(forbidden(shader(body, SQUARE), NUMBERS))


def test_workgroup_scope_is_one_matrix_for_all_subgroups(result) -> None:
    wide = matrix("wide", "u32", 4, 4, 2, scope=2)
    assert result(shader(load("wide") + store(), wide), NUMBERS, subgroups=2).tolist() == list(range(100, 116))


def test_a_matrix_carried_through_a_phi_and_a_branch_of_one_subgroup(result) -> None:
    body = (
        load("square")
        + """
%first = OpIEqual %bool %subgroup %u32_0
OpSelectionMerge %merge None
OpBranchConditional %first %change %merge
%change = OpLabel
%twice = OpIAdd %square %m %m
OpBranch %merge
%merge = OpLabel
%n = OpPhi %square %m %entry %twice %change
%at = OpIMul %u32 %subgroup %u32_16
"""
        + store("n", "%at")
    )
    got = result(shader(body, SQUARE), NUMBERS, 128, subgroups=2).tolist()
    assert got == [2 * (100 + i) for i in range(16)] + list(range(100, 116))


def test_a_whole_subgroup_may_leave_matrix_instructions_out(result) -> None:
    body = """
%first = OpIEqual %bool %subgroup %u32_0
OpSelectionMerge %merge None
OpBranchConditional %first %some %merge
%some = OpLabel
{}
OpBranch %merge
%merge = OpLabel
"""
    assert result(shader(body.format(load("square") + store()), SQUARE), NUMBERS, subgroups=2).tolist() == list(range(100, 116))


def test_misaligned_matrices_run_where_strictness_is_off(result) -> None:
    got = result(shader(load("square", at="%u32_1") + store(), SQUARE), words(*range(17)), strict=False)
    assert got.tolist() == list(range(1, 17))
