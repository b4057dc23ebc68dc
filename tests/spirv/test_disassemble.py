"""The text of a module. The expected texts are from spirv-dis (SPIRV-Tools 2026.4)."""

from __future__ import annotations

import struct
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.program.program import Program
from generators.spirv.assemble import assemble
from generators.spirv.declarations import literal
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from generators.spirv.enumerants import MAGIC, FPEncoding, Op
from generators.spirv.module import string_words
from generators.spirv.numbers import NumberType, hexadecimal_bits, number_text
from generators.spirv.reader import NotSpirv
from generators.types import COMPONENT_TYPES, ComponentType

F16, F32, F64 = (NumberType(True, bits) for bits in (16, 32, 64))
BF16, E4M3, E5M2 = (
    NumberType(True, bits, encoding=encoding)
    for bits, encoding in ((16, FPEncoding.BFloat16KHR), (8, FPEncoding.Float8E4M3EXT), (8, FPEncoding.Float8E5M2EXT))
)


def _text(*words: int) -> list[str]:
    return disassemble(struct.pack(f"<{5 + len(words)}I", MAGIC, 0x00010600, 0, 99, 0, *words)).splitlines()[5:]


def _name(id_: int, name: str) -> tuple[int, ...]:
    words = string_words(name)
    return (2 + len(words) << 16 | Op.Name, id_, *words)


def test_the_header_is_five_comments() -> None:
    words = struct.pack("<5I", MAGIC, 0x00010300, 8 << 16 | 11, 42, 0)
    assert disassemble(words).splitlines() == [
        "; SPIR-V",
        "; Version: 1.3",
        "; Generator: Khronos Glslang Reference Front End; 11",
        "; Bound: 42",
        "; Schema: 0",
    ]


def test_results_end_in_one_column_where_they_fit() -> None:
    assert _text(2 << 16 | Op.TypeVoid, 1, 3 << 16 | Op.TypeFunction, 2, 1, 1 << 16 | Op.Return) == [
        "       %void = OpTypeVoid",
        "          %2 = OpTypeFunction %void",
        "               OpReturn",
    ]


def test_equal_names_are_distinguished_and_odd_characters_replaced() -> None:
    assert _text(*_name(1, "f(u1;"), *_name(2, "f_u1_"), *_name(3, "")) == [
        '               OpName %f_u1_ "f(u1;"',
        '               OpName %f_u1__0 "f_u1_"',
        '               OpName %_ ""',
    ]


def test_quotes_and_backslashes_are_escaped() -> None:
    assert _text(*_name(1, 'a"\\')) == ['               OpName %a__ "a\\"\\\\"']


def test_masks_name_their_flags_and_what_they_take() -> None:
    assert _text(6 << 16 | Op.Store, 1, 2, 0x2A, 16, 3) == [
        "               OpStore %1 %2 Aligned|MakePointerAvailable|NonPrivatePointer 16 %3"
    ]
    assert _text(4 << 16 | Op.Store, 1, 2, 0) == ["               OpStore %1 %2 None"]


@pytest.mark.parametrize("words", [(2 << 16 | Op.Store, 1), (5 << 16 | Op.Store, 1, 2, 0, 7), (3 << 16 | Op.TypeVoid, 1, 2)])
def test_operands_too_few_or_too_many_are_refused(words: tuple[int, ...]) -> None:
    with pytest.raises(NotSpirv, match=r"SPIR-V word 5: Op\w+ (lacks|has . operands too many)"):
        _text(*words)


def test_a_multiply_add_reads_as_expected(muladd: Callable[..., Program]) -> None:
    lines = disassemble(emit(muladd())).splitlines()
    at = next(i for i, line in enumerate(lines) if "%step_header = OpLabel" in line)
    assert lines[at : at + 12] == [
        "%step_header = OpLabel",
        "       %step = OpPhi %uint %uint_0 %entry %step_next %step_continue",
        "%accumulator = OpPhi %matrix_f32_16x32_ACCUMULATOR %matrix_c %entry %following %step_continue",
        lines[at + 3],
        "               OpLoopMerge %step_merge %step_continue None",
        lines[at + 5],
        "  %step_body = OpLabel",
        "  %following = OpCooperativeMatrixMulAddKHR %matrix_f32_16x32_ACCUMULATOR %matrix_a %matrix_b %accumulator",
        "               OpBranch %step_continue",
        "%step_continue = OpLabel",
        "  %step_next = OpIAdd %uint %step %uint_1",
        "               OpBranch %step_header",
    ]
    assert lines[at + 3].endswith("= OpULessThan %bool %step %trips")


@pytest.mark.parametrize(
    ("type_", "bits", "text"),
    [
        (F32, 0x3DCCCCCD, "0.100000001"),
        (F32, 0x60AD78EC, "1.00000002e+20"),
        (F32, 0x80000000, "-0"),
        (F32, 0x80000200, "-0x1p-140"),
        (F32, 0x7F800000, "0x1p+128"),
        (F32, 0xFFC00000, "-0x1.8p+128"),
        (F64, 0x3FB999999999999A, "0.10000000000000001"),
        (F64, 0x10, "0x1p-1070"),
        (F16, 0x2E66, "0x1.998p-4"),
        (F16, 0xBE00, "-0x1.8p+0"),
        (F16, 0x0010, "0x1p-20"),
        (F16, 0, "0x0p+0"),
        (BF16, 0x3FC0, "0x1.8p+0"),
        (BF16, 0x8008, "-0x1p-130"),
        (E4M3, 0x3C, "0x1.8p+0"),
        (E5M2, 0x3E, "0x1.8p+0"),
    ],
)
def test_floating_point_literals_are_those_of_spirv_dis(type_: NumberType, bits: int, text: str) -> None:
    assert number_text(type_, (bits & 0xFFFFFFFF, bits >> 32)[: -(-type_.bits // 32)]) == text


@given(st.sampled_from([c for c in COMPONENT_TYPES.values() if not c.is_float]), st.data())
def test_an_integer_reads_as_it_was_written(component: ComponentType, data: st.DataObject) -> None:
    low = -(1 << component.bits - 1) if component.is_signed else 0
    value = data.draw(st.integers(low, low + (1 << component.bits) - 1))
    words = literal(component, value)
    assert all(0 <= word < 1 << 32 for word in words)
    assert number_text(NumberType(False, component.bits, component.is_signed), words) == str(value)


@pytest.mark.parametrize(
    ("type_", "dtype"), [(F16, np.float16), (BF16, ml_dtypes.bfloat16), (E4M3, ml_dtypes.float8_e4m3fn), (E5M2, ml_dtypes.float8_e5m2)]
)
def test_narrow_floating_point_literals_have_their_value(type_: NumberType, dtype: type) -> None:
    bits = np.arange(1 << type_.bits, dtype=f"u{type_.bits // 8}")
    with np.errstate(invalid="ignore"):
        values = bits.view(dtype).astype(np.float64)
    for pattern, value in zip(bits.tolist(), values.tolist(), strict=True):
        if np.isfinite(value):
            assert float.fromhex(number_text(type_, (pattern,))) == value


@pytest.mark.parametrize("type_", [F16, F32, F64, BF16, E4M3, E5M2], ids=str)
@given(data=st.data())
def test_hexadecimal_numbers_are_read_as_they_are_written(type_: NumberType, data: st.DataObject) -> None:
    bits = data.draw(st.integers(0, (1 << type_.bits) - 1))
    text = number_text(type_, tuple(bits >> 32 * i & 0xFFFFFFFF for i in range(-(-type_.bits // 32))))
    assert hexadecimal_bits(type_, text) == (bits if "0x" in text else None)


def test_constants_of_narrow_floats_survive_a_round_trip() -> None:
    lines = ("%f = OpTypeFloat 16 BFloat16KHR", "%c = OpConstant %f -0x1.8p+1", "%n = OpConstant %f 0x1.82p+128")
    text = disassemble(assemble("\n".join(lines)))
    assert [line.split("=")[1].split()[-1] for line in text.splitlines() if "OpConstant" in line] == ["-0x1.8p+1", "0x1.82p+128"]


def test_many_equal_names_and_types_that_are_made_of_two_stay_cheap() -> None:
    names = [word for id_ in range(1, 5000) for word in _name(id_, "same")]
    assert _text(*names)[-1] == '               OpName %same_4997 "same"'
    arrays = [word for id_ in range(2, 60) for word in (4 << 16 | Op.TypeArray, id_, id_ - 1, id_ - 1)]
    assert all(len(line) < 1000 for line in _text(2 << 16 | Op.TypeVoid, 1, *arrays))


def test_enumerants_and_formats_that_nobody_knows_are_shown_as_numbers() -> None:
    pointer = (4 << 16 | Op.TypePointer, 2, 999, 1)
    assert _text(2 << 16 | Op.TypeVoid, 1, *pointer)[1] == "%_ptr_999_void = OpTypePointer 999 %void"
    number = (3 << 16 | Op.TypeFloat, 1, 24, 4 << 16 | Op.Constant, 1, 2, 0xABC)
    assert _text(*number)[1].endswith("OpConstant %fp24 0xabc")
