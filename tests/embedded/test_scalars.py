"""Integer and float arithmetic, on values that all invocations share and on values of each, compared with Python's."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.embedded.assembly import shader, store
from tests.embedded.conftest import repeatedly, run

LANES = 4
BITS = {"u8": 8, "s8": 8, "u16": 16, "s32": 32, "u32": 32, "u64": 64, "s64": 64}


@cache
def binary(op: str, type_: str, uniform: bool) -> bytes:
    """Build a module of a binary operation: the input holds four left operands, then four right operands."""
    index = "%u32_0" if uniform else "%lane"
    return shader(
        f"""
%right_index = OpIAdd %u32 {index} %u32_4
%left_place = OpAccessChain %ptr_in %input %s32_0 {index}
%right_place = OpAccessChain %ptr_in %input %s32_0 %right_index
%left = OpLoad %{type_} %left_place
%right = OpLoad %{type_} %right_place
%value = {op} %{type_} %left %right
{store("%value")}
""",
        buffer_type=type_,
    )


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def truncated(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


OPERATIONS = {
    "OpIAdd": lambda x, y, _: x + y,
    "OpISub": lambda x, y, _: x - y,
    "OpIMul": lambda x, y, _: x * y,
    "OpUDiv": lambda x, y, _: x // (y or 1),
    "OpUMod": lambda x, y, _: x % (y or 1),
    "OpSDiv": lambda x, y, b: truncated(signed(x, b), signed(y, b)),
    "OpSRem": lambda x, y, b: signed(x, b) - truncated(signed(x, b), signed(y, b)) * signed(y, b),
    "OpSMod": lambda x, y, b: signed(x, b) % signed(y, b),
    "OpBitwiseAnd": lambda x, y, _: x & y,
    "OpBitwiseOr": lambda x, y, _: x | y,
    "OpBitwiseXor": lambda x, y, _: x ^ y,
    "OpShiftLeftLogical": lambda x, y, _: x << y,
    "OpShiftRightLogical": lambda x, y, _: x >> y,
    "OpShiftRightArithmetic": lambda x, y, b: signed(x, b) >> y,
}


def operands(op: str, bits: int):
    value = st.integers(0, (1 << bits) - 1) | st.sampled_from([0, 1, (1 << bits) - 1, 1 << bits - 1])
    if "Shift" in op:
        return st.tuples(value, st.integers(0, bits - 1))
    if "Div" in op or "Mod" in op or "Rem" in op:
        pair = st.tuples(value, value.filter(bool))
        return pair.filter(lambda p: op[2] == "U" or (p[0], p[1]) != (1 << bits - 1, (1 << bits) - 1))
    return st.tuples(value, value)


@pytest.mark.parametrize("type_", BITS)
@pytest.mark.parametrize("op", OPERATIONS)
def test_integer_arithmetic_is_that_of_python_in_two_s_complement(op: str, type_: str) -> None:
    bits = BITS[type_]
    dtype = np.dtype(f"u{bits // 8}")
    size = LANES * dtype.itemsize
    runs = [(uniform, repeatedly(binary(op, type_, uniform), 2 * size, size)) for uniform in (False, True)]

    @settings(max_examples=8)
    @given(st.lists(operands(op, bits), min_size=LANES, max_size=LANES))
    def check(pairs: list[tuple[int, int]]) -> None:
        data = np.array([p[0] for p in pairs] + [p[1] for p in pairs], dtype).view(np.uint8)
        for uniform, run_again in runs:
            got = run_again(data).outputs["output"].view(dtype)
            want = [OPERATIONS[op](*(pairs[0] if uniform else pair), bits) % (1 << bits) for pair in pairs]
            assert got.tolist() == want

    check()


COMPARISONS = {
    "OpIEqual": lambda x, y, _: x == y,
    "OpULessThan": lambda x, y, _: x < y,
    "OpUGreaterThanEqual": lambda x, y, _: x >= y,
    "OpSLessThan": lambda x, y, b: signed(x, b) < signed(y, b),
    "OpSGreaterThanEqual": lambda x, y, b: signed(x, b) >= signed(y, b),
}


@pytest.mark.parametrize("op", COMPARISONS)
def test_comparisons_take_the_sign_from_the_instruction(op: str) -> None:
    module = shader(
        f"""
%right_index = OpIAdd %u32 %lane %u32_4
%left_place = OpAccessChain %ptr_in %input %s32_0 %lane
%right_place = OpAccessChain %ptr_in %input %s32_0 %right_index
%left = OpLoad %u32 %left_place
%right = OpLoad %u32 %right_place
%holds = {op} %bool %left %right
%value = OpSelect %u32 %holds %u32_1 %u32_0
{store("%value")}
"""
    )

    @settings(max_examples=20)
    @given(st.lists(operands("", 32), min_size=LANES, max_size=LANES))
    def check(pairs: list[tuple[int, int]]) -> None:
        data = np.array([p[0] for p in pairs] + [p[1] for p in pairs], np.uint32).view(np.uint8)
        got = run(module, data, 16).outputs["output"].view(np.uint32)
        assert got.tolist() == [int(COMPARISONS[op](*pair, 32)) for pair in pairs]

    check()


@pytest.mark.parametrize(
    ("op", "left", "right", "rule"),
    [
        ("OpUDiv", 5, 0, "SPIR-V 3.42.13"),
        ("OpUMod", 5, 0, "SPIR-V 3.42.13"),
        ("OpSDiv", 5, 0, "SPIR-V 3.42.13"),
        ("OpSDiv", 1 << 31, 0xFFFFFFFF, "SPIR-V 3.42.13"),
        ("OpSRem", 1 << 31, 0xFFFFFFFF, "SPIR-V 3.42.13"),
        ("OpShiftLeftLogical", 1, 32, "SPIR-V 3.42.14"),
        ("OpShiftRightArithmetic", 1, 40, "SPIR-V 3.42.14"),
    ],
)
@pytest.mark.parametrize("uniform", [False, True])
def test_undefined_arithmetic_is_named_with_its_instruction(forbidden, op, left, right, rule, uniform) -> None:
    data = np.array([left] * 4 + [right] * 4, np.uint32).view(np.uint8)
    message = str(forbidden(binary(op, "s32", uniform), data))
    assert f"[{rule}]" in message
    assert f" = {op} %int %" in message


def test_a_division_by_zero_in_a_branch_not_taken_is_not_executed(result) -> None:
    body = f"""
%zero = OpIEqual %bool %lane %u32_0
OpSelectionMerge %merge None
OpBranchConditional %zero %merge %divide
%divide = OpLabel
%value = OpUDiv %u32 %u32_12 %lane
{store("%value")}
OpBranch %merge
%merge = OpLabel
"""
    assert result(shader(body), output=16).tolist() == [0, 12, 6, 4]


@cache
def conversion(op: str, from_: str, to: str) -> bytes:
    return shader(
        f"""
%from = OpAccessChain %ptr_in %input %s32_0 %lane
%old = OpLoad %{from_} %from
%new = {op} %{to} %old
{store("%new")}
""",
        input_type=from_,
        buffer_type=to,
    )


@pytest.mark.parametrize(
    ("op", "from_", "to", "values", "want"),
    [
        ("OpConvertFToS", "f32", "s8", [-128.9, -1.5, 127.9, 0.99], [128, 255, 127, 0]),
        ("OpConvertFToU", "f16", "u8", [255.0, 0.5, 1.999, 7], [255, 0, 1, 7]),
        ("OpConvertSToF", "s8", "f32", [-128, -1, 5, 127], [-128.0, -1.0, 5.0, 127.0]),
        ("OpConvertUToF", "u32", "f16", [2049, 2051, 65504, 1], [2048.0, 2052.0, 65504.0, 1.0]),
        ("OpUConvert", "u32", "u8", [0x1FF, 0x80, 3, 0x100], [0xFF, 0x80, 3, 0]),
        ("OpSConvert", "s8", "s32", [-1, -128, 127, 5], [0xFFFFFFFF, 0xFFFFFF80, 127, 5]),
        ("OpFConvert", "f32", "f16", [1 + 2**-11, 1 + 2**-10, 65519.0, -0.1], [1.0, 1 + 2**-10, 65504.0, -0.0999755859375]),
        ("OpFConvert", "f16", "f64", [0.1, 2**-24, 5, -7], [0.0999755859375, 2**-24, 5.0, -7.0]),
        ("OpBitcast", "f32", "u32", [1.0, -2.0, 0.5, 0.0], [0x3F800000, 0xC0000000, 0x3F000000, 0]),
        ("OpBitcast", "u32", "f32", [0x3F800000, 0xC0000000, 0x3F000000, 0], [1.0, -2.0, 0.5, 0.0]),
    ],
)
def test_conversions(op, from_, to, values, want) -> None:
    dtypes = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "s8": np.int8}
    source = dtypes.get(from_, f"u{BITS.get(from_, 8) // 8}")
    target = dtypes.get(to) if to[0] == "f" else np.dtype(f"u{BITS[to] // 8}")
    data = np.array(values, source).view(np.uint8)
    got = run(conversion(op, from_, to), data, 4 * np.dtype(target).itemsize).outputs["output"].view(target)
    assert got.tolist() == want


@pytest.mark.parametrize("value", [128.0, -129.0, float("nan"), float("inf")])
def test_a_float_out_of_range_is_not_converted(forbidden, value) -> None:
    assert forbidden(conversion("OpConvertFToS", "f32", "s8"), np.full(4, value, np.float32).view(np.uint8)).rule == "SPIR-V 3.42.11"


def test_float_arithmetic_rounds_to_the_type() -> None:
    values = np.array([1.0, 2.5, -3.25, 1000.0, 2**-11, 0.125, 7.0, 0.1], np.float16)
    for op, function in (("OpFAdd", np.add), ("OpFMul", np.multiply), ("OpFSub", np.subtract), ("OpFDiv", np.divide)):
        for uniform in False, True:
            got = run(binary(op, "f16", uniform), values.view(np.uint8), 8).outputs["output"].view(np.float16)
            want = function(values[:4], values[4:]) if not uniform else np.full(4, function(values[0], values[4]))
            assert got.tolist() == want.tolist()


def test_specialization_constants_are_computed_with() -> None:
    from generators.kernel import Specialization
    from generators.types import COMPONENT_TYPES

    module = shader(
        store("%sum"),
        decorations="OpDecorate %given SpecId 5",
        declarations="%given = OpSpecConstant %u32 3\n%sum = OpSpecConstantOp %u32 IMul %given %local_size",
    )
    assert run(module, output=16).outputs["output"].view(np.uint32).tolist() == [12] * 4
    specialized = run(module, output=32, subgroups=2, specialization=(Specialization(5, COMPONENT_TYPES["u32"], 10),))
    assert specialized.outputs["output"].view(np.uint32).tolist() == [80] * 8


def test_vectors_shuffle_extract_insert_and_compute() -> None:
    body = f"""
%v = OpCompositeConstruct %u32x3 %lane %u32_5 %u32_7
%w = OpVectorShuffle %u32x3 %v %v 2 0 4
%x = OpIAdd %u32x3 %v %w
%y = OpCompositeInsert %u32x3 %u32_100 %x 1
%a = OpCompositeExtract %u32 %y 0
%b = OpCompositeExtract %u32 %y 1
%c = OpVectorExtractDynamic %u32 %y %u32_2
%ab = OpIAdd %u32 %a %b
%abc = OpIAdd %u32 %ab %c
{store("%abc")}
"""
    # v = (l, 5, 7), w = (7, l, 5), x = (l + 7, l + 5, 12), y = (l + 7, 100, 12).
    assert run(shader(body), output=16).outputs["output"].view(np.uint32).tolist() == [119 + lane for lane in range(4)]


SUM_WITH_NOTHING = "%nothing = OpUndef %u32\n%copy = OpCopyObject %u32 %nothing\n%sum = OpIAdd %u32 %copy %u32_1\n"
ON_NOTHING = """
%equal = OpIEqual %bool %u32_1 %sum
OpSelectionMerge %after None
OpBranchConditional %equal %then %after
%then = OpLabel
OpBranch %after
%after = OpLabel
"""


def test_an_undefined_value_may_be_computed_with() -> None:
    run(shader(SUM_WITH_NOTHING))


@pytest.mark.parametrize(
    "sink", [store("%sum"), ON_NOTHING, store("%lane", "%sum")], ids=["what is stored", "what a branch is on", "where something is stored"]
)
def test_an_undefined_value_may_reach_nothing_that_shows(sink, forbidden) -> None:
    message = str(forbidden(shader(SUM_WITH_NOTHING + sink)))
    assert "undefined" in message
    assert "= OpUndef %" in message


def test_an_undefined_value_on_a_way_not_taken_does_no_harm(result) -> None:
    body = f"""
%nothing = OpUndef %u32
%low = OpULessThan %bool %lane %u32_4
%value = OpSelect %u32 %low %lane %nothing
{store("%value")}
"""
    assert result(shader(body), output=16).tolist() == [0, 1, 2, 3]
