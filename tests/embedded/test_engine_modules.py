"""Features of engine shaders that the suite's own cases do not use: matrices in buffers, casts of pointers, constants that guard code."""

from __future__ import annotations

import numpy as np
import pytest

from cts.embedded.device import EmbeddedDevice, NotTolerable
from cts.embedded.profile import load_profile
from generators.kernel import Specialization
from generators.types import COMPONENT_TYPES
from tests.embedded import conftest
from tests.embedded.assembly import shader, store, words
from tests.embedded.conftest import run
from tests.embedded.test_decode import BLOCKS, RULES, module
from tests.embedded.test_memory import PHYSICAL, physical

U32 = COMPONENT_TYPES["u32"]


def test_a_pointer_becomes_a_pointer_to_another_type() -> None:
    declared = "%words = OpTypePointer PhysicalStorageBuffer %array\n%push = OpTypeStruct"
    text = PHYSICAL.replace("ALIGNED", "Aligned 4").replace("%push = OpTypeStruct", declared)
    cast = "%cast = OpBitcast %words %from\n%from_place = OpAccessChain %ptr_element %cast %lane"
    text = text.replace("%from_place = OpAccessChain %ptr_element %from %zero %lane", cast)
    assert physical(text, words(9, 8, 7, 6)).tolist() == [9, 8, 7, 6]


MATRICES = """
%f32x4 = OpTypeVector %f32 4
%mat2x4 = OpTypeMatrix %f32x4 2
%matrices = OpTypeRuntimeArray %mat2x4
%matrix_block = OpTypeStruct %matrices
%ptr_matrix_block = OpTypePointer StorageBuffer %matrix_block
%ptr_matrix = OpTypePointer StorageBuffer %mat2x4
%ptr_f32 = OpTypePointer StorageBuffer %f32
%data = OpVariable %ptr_matrix_block StorageBuffer
"""
DECORATIONS = """
OpDecorate %matrices ArrayStride 32
OpDecorate %matrix_block Block
OpMemberDecorate %matrix_block 0 ColMajor
OpMemberDecorate %matrix_block 0 MatrixStride 16
OpMemberDecorate %matrix_block 0 Offset 0
OpMemberDecorate %matrix_block 0 NonWritable
OpDecorate %data Binding 0
OpDecorate %data DescriptorSet 0
"""
READ_COMPONENT = """
%at = OpAccessChain %ptr_f32 %data %s32_0 %s32_0 %u32_1 %lane
%f = OpLoad %f32 %at
"""
READ_WHOLE = """
%at = OpAccessChain %ptr_matrix %data %s32_0 %s32_0
%whole = OpLoad %mat2x4 %at
%column = OpCompositeExtract %f32x4 %whole 1
%f = OpVectorExtractDynamic %f32 %column %lane
"""


def of_matrices(body: str, decorations: str = DECORATIONS) -> bytes:
    return shader(f"{body}%y = OpConvertFToU %u32 %f\n{store('%y')}", MATRICES, decorations, capabilities=("Matrix",))


@pytest.mark.parametrize("body", [READ_COMPONENT, READ_WHOLE])
def test_a_matrix_in_a_buffer_is_read_by_columns(body, result) -> None:
    given = np.arange(8, dtype=np.float32).view(np.uint8)
    assert result(of_matrices(body), given, 16).tolist() == [4, 5, 6, 7]


GAPS, ROWS = ("MatrixStride 16", "MatrixStride 24"), ("ColMajor", "RowMajor")
"""Two columns with 8 bytes between them, and four rows of two components, each 16 bytes after the previous one."""


@pytest.mark.parametrize("body", [READ_COMPONENT, READ_WHOLE])
@pytest.mark.parametrize(("change", "want"), [(GAPS, [6, 7, 8, 9]), (ROWS, [1, 5, 9, 13])])
def test_a_matrix_with_gaps_or_by_rows_is_read_where_it_lies(body, change, want, result) -> None:
    given = np.arange(16, dtype=np.float32).view(np.uint8)
    assert result(of_matrices(body, DECORATIONS.replace(*change).replace("ArrayStride 32", "ArrayStride 64")), given, 16).tolist() == want


WRITE_COLUMN = """
%column_pointer = OpTypePointer StorageBuffer %f32x4
"""


@pytest.mark.parametrize(("change", "want"), [(GAPS, range(6, 10)), (ROWS, (1, 5, 9, 13))])
def test_a_column_is_stored_where_it_lies(change, want) -> None:
    decorations = DECORATIONS.replace(*change).replace("Binding 0", "Binding 1").replace("0 NonWritable", "0 Coherent")
    body = """
%at = OpAccessChain %column_pointer %data %s32_0 %s32_0 %u32_1
%column = OpCompositeConstruct %f32x4 %f32_1 %f32_2 %f32_3 %f32_4
%first = OpIEqual %bool %lane %u32_0
OpSelectionMerge %after None
OpBranchConditional %first %inside %after
%inside = OpLabel
OpStore %at %column
OpBranch %after
%after = OpLabel
"""
    outcome = conftest.run(shader(body, MATRICES + WRITE_COLUMN, decorations, capabilities=("Matrix",)), None, 64)
    left = outcome.outputs["output"].view(np.float32)
    assert [left[place] for place in want] == [1, 2, 3, 4]
    assert np.count_nonzero(left) == 4


def test_a_pointer_into_such_a_matrix_is_not_passed_on(forbidden) -> None:
    body = """
%at = OpAccessChain %column_pointer %data %s32_0 %s32_0 %u32_1
%other = OpCopyObject %column_pointer %at
%column = OpLoad %f32x4 %other
"""
    module = shader(body, MATRICES + WRITE_COLUMN, DECORATIONS.replace(*ROWS), capabilities=("Matrix",))
    assert "a pointer into a matrix with gaps or by rows" in str(forbidden(module))


GUARDED = """
%small = OpULessThan %bool %n %u32_4
OpSelectionMerge %after None
OpBranchConditional %small %inside %after
%inside = OpLabel
{body}
OpBranch %after
%after = OpLabel
"""
SPECIALIZED = """
%n = OpSpecConstant %u32 0
%table = OpTypeArray %u32 %u32_4
%ptr_table = OpTypePointer Workgroup %table
%numbers = OpVariable %ptr_table Workgroup
"""


def specialized(body: str, n: int, declared: str = "") -> tuple[bytes, dict]:
    module = shader(f"{body}\n{store('%u32_1')}", SPECIALIZED + declared, "OpDecorate %n SpecId 7")
    return module, {"specialization": (Specialization(7, U32, n),), "output": 16}


INTO_TABLE = GUARDED.format(body="%at = OpAccessChain %ptr_shared %numbers %n\nOpStore %at %u32_1")


def test_an_index_that_a_constant_guards_is_checked_where_it_is_executed(result) -> None:
    module, options = specialized(INTO_TABLE, 9)
    assert result(module, **options).tolist() == [1] * 4


def test_an_index_beyond_the_end_is_refused_where_it_is_executed(forbidden) -> None:
    module, options = specialized(INTO_TABLE.replace("OpULessThan %bool %n %u32_4", "OpULessThan %bool %u32_1 %u32_4"), 9)
    assert forbidden(module, **options).rule == "SPIR-V 3.42.8 OpAccessChain"


QUOTIENT = "%quotient = OpSpecConstantOp %u32 UDiv %u32_64 %n\n"
USES_QUOTIENT = GUARDED.format(body=store("%quotient", name="other")).replace("OpULessThan %bool %n %u32_4", "OpINotEqual %bool %n %s32_0")


def test_a_quotient_by_a_constant_of_zero_is_refused_where_it_is_used(result, forbidden) -> None:
    module, options = specialized(USES_QUOTIENT, 0, QUOTIENT)
    assert result(module, **options).tolist() == [1] * 4
    module, options = specialized(store("%quotient", name="other"), 0, QUOTIENT)
    assert "undefined value" in str(forbidden(module, **options))


def test_an_uninitialised_read_names_the_first_byte_without_a_value(forbidden) -> None:
    body = """
%at = OpAccessChain %ptr_shared %shared %lane
%low = OpULessThan %bool %lane %u32_2
OpSelectionMerge %merge None
OpBranchConditional %low %some %merge
%some = OpLabel
OpStore %at %lane
OpBranch %merge
%merge = OpLabel
%x = OpLoad %u32 %at
"""
    assert str(forbidden(shader(body + store("%x")))).count("byte 8 of ") == 1


def test_a_function_variable_that_is_a_pointer_begins_without_a_value(result) -> None:
    text = PHYSICAL.replace("ALIGNED", "Aligned 4")
    text = text.replace("%push = OpTypeStruct", "%ptr_variable = OpTypePointer Function %ptr_block\n%push = OpTypeStruct")
    text = text.replace("%entry = OpLabel", "%entry = OpLabel\n%kept = OpVariable %ptr_variable Function")
    text = text.replace("%from_place =", "OpStore %kept %from\n%again = OpLoad %ptr_block %kept\n%from_place =")
    text = text.replace("%ptr_element %from %zero", "%ptr_element %again %zero")
    for strict in (True, False):
        assert physical(text, words(9, 8, 7, 6), strict).tolist() == [9, 8, 7, 6]


def test_an_array_specialized_to_no_length_is_refused_before_it_runs(forbidden) -> None:
    declared = "%none = OpTypeArray %u32 %n\n%ptr_none = OpTypePointer Workgroup %none\n%nothing = OpVariable %ptr_none Workgroup\n"
    module, options = specialized("", 0, declared)
    assert "an array of length 0" in str(forbidden(module, **options))


def test_an_opcode_that_is_unknown_is_named(forbidden) -> None:
    module = bytearray(shader(store("%lane")))
    module[20:24] = (2 << 16 | 0x7777).to_bytes(4, "little")
    message = str(forbidden(bytes(module)))
    assert "does not support this: opcode 30583" in message


@pytest.mark.parametrize(
    ("what", "warning"),
    [
        ("a runtime array", "it is not clear how many bytes its first parameter points to [F-CM2-6]"),
        ("a store", "writes memory, but it is not specified how often and in which order it is called [F-CM2-10]"),
    ],
)
def test_a_position_where_the_text_is_silent_can_be_tolerated(what, warning, monkeypatch) -> None:
    made = []

    def tolerant(*arguments, **named):
        made.append(EmbeddedDevice(*arguments, **named, tolerated=("F-CM2-6", "F-CM2-10")))
        return made[-1]

    monkeypatch.setattr(conftest, "EmbeddedDevice", tolerant)
    options, _ = RULES[what]
    stores = options.get("functions", "")
    if stores:
        atomic = "%old = OpAtomicOr %u32 %p %u32_1 %u32_0 %u32_1\n"
        options = options | {"functions": stores.replace("%s32_0 %u32_0\nOpStore %p %s2\n", f"%s32_0 %u32_40\n{atomic}")}
    run(module(**options), BLOCKS, 192)
    (told,) = made[0].warnings
    assert warning in told


def test_rules_of_the_text_cannot_be_tolerated() -> None:
    with pytest.raises(NotTolerable) as caught:
        EmbeddedDevice(load_profile("universal"), tolerated=["KHR-MEM-02"])
    assert caught.value.rules == {"KHR-MEM-02"}
