"""Cooperative matrices: memory, multiply-add, components, and the rules that they break."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cts.devices.embedded.elements import MAPPINGS, NO_ELEMENT, component_counts, element_table
from cts.devices.embedded.load_store import element_offsets
from tests.embedded.assembly import shader, words
from tests.embedded.conftest import run

ROW, COLUMN = "%u32_0", "%u32_1"


def matrix(name: str, component: str, rows: int, columns: int, use: int, scope: int = 3) -> str:
    return f"%{name} = OpTypeCooperativeMatrixKHR %{component} %u32_{scope} %u32_{rows} %u32_{columns} %u32_{use}\n"


def load(type_: str, name: str = "m", at: str = "%u32_0", layout: str = ROW, stride: str = "%u32_4", operands: str = "") -> str:
    place = f"%{name}_from = OpAccessChain %ptr_in %input %s32_0 {at}\n"
    return place + f"%{name} = OpCooperativeMatrixLoadKHR %{type_} %{name}_from {layout} {stride} {operands}\n"


def store(name: str = "m", at: str = "%u32_0", layout: str = ROW, stride: str = "%u32_4", operands: str = "") -> str:
    place = f"%{name}_to = OpAccessChain %ptr_out %output %s32_0 {at}\n"
    return place + f"OpCooperativeMatrixStoreKHR %{name}_to %{name} {layout} {stride} {operands}\n"


SQUARE = matrix("square", "u32", 4, 4, 2)
NUMBERS = words(*range(100, 116))


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
@settings(deadline=None)
@given(rows=st.integers(1, 9), columns=st.integers(1, 9), lanes=st.sampled_from([1, 2, 4, 8, 32]))
def test_a_mapping_gives_each_element_to_one_invocation(mapping, rows, columns, lanes) -> None:
    table = element_table(mapping, rows, columns, lanes)
    assert sorted(table[table != NO_ELEMENT].tolist()) == list(range(rows * columns))
    counts = component_counts(mapping, rows, columns, lanes)
    for lane in range(lanes):
        assert (table[: counts[lane], lane] != NO_ELEMENT).all(), "components are numbered without gaps"


MULADD = "%d = OpCooperativeMatrixMulAddKHR %md %a %b %c {}\n"


def muladd_module(types: str, flags: str = "", shape: tuple[int, int, int] = (2, 3, 4)) -> bytes:
    """A, B and C lie one after the other in the input, in slots of 256 bytes each."""
    m, n, k = shape
    a, b, c, d = types.split()
    declarations = (
        matrix("ma", a, m, k, 0) + matrix("mb", b, k, n, 1) + matrix("mc", c, m, n, 2) + (matrix("md", d, m, n, 2) if d != c else "")
    )
    body = (
        load("ma", "a", "%u32_0", stride="%u32_16")
        + load("mb", "b", "%u32_256", stride="%u32_16")
        + load("mc", "c", "%u32_512", stride="%u32_16")
        + MULADD.format(flags).replace("%md", "%md" if d != c else "%mc")
        + store("d", stride="%u32_16")
    )
    return shader(body, declarations)


def muladd(types: str, a, b, c, flags: str = "", strict: bool = True) -> np.ndarray:
    """a, b, c: numpy arrays of the components' own dtypes."""
    given = np.zeros(3 * 1024, np.uint8)
    for i, x in enumerate((a, b, c)):
        raw = np.zeros((x.shape[0], 64), np.uint8)
        raw[:, : x.shape[1] * x.dtype.itemsize] = np.ascontiguousarray(x).view(np.uint8)
        given[1024 * i : 1024 * i + raw.size] = raw.ravel()
    module = muladd_module(types, flags, (a.shape[0], b.shape[1], a.shape[1]))
    return run(module, given, 1024, strict=strict).outputs["output"].reshape(-1, 64)


FLAGS = {
    "a": "MatrixASignedComponentsKHR",
    "b": "MatrixBSignedComponentsKHR",
    "c": "MatrixCSignedComponentsKHR",
    "r": "MatrixResultSignedComponentsKHR",
}


def flag_text(letters: str, saturating: bool = False) -> str:
    return "|".join([FLAGS[letter] for letter in letters] + ["SaturatingAccumulationKHR"] * saturating)


SHAPE_A, SHAPE_B, SHAPE_C = (4, 8), (8, 4), (4, 4)


@pytest.mark.parametrize(
    ("component", "result"), [("u8", "u32"), ("u16", "u16"), ("u32", "u32"), ("u32", "u64"), ("u64", "u64"), ("u8", "u8")]
)
@pytest.mark.parametrize("letters", ["", "abcr", "a", "bc"])
def test_integers_wrap_and_only_the_flags_decide_the_sign(component, result, letters) -> None:
    rng = np.random.default_rng(7)
    bits, wide = int(component[1:]), int(result[1:])
    a, b = (rng.integers(0, 1 << bits, s, np.uint64).astype(f"u{bits // 8}") for s in (SHAPE_A, SHAPE_B))
    c = rng.integers(0, 1 << min(wide, 63), SHAPE_C, np.uint64).astype(f"u{wide // 8}")

    def exact(x: np.ndarray, sign: bool, width: int) -> np.ndarray:
        x = x.astype(object)
        return np.where(x >= 1 << width - 1, x - (1 << width), x) if sign else x

    want = (exact(a, "a" in letters, bits) @ exact(b, "b" in letters, bits) + exact(c, "c" in letters, wide)) % (1 << wide)
    got = muladd(f"{component} {component} {result} {result}", a, b, c, flag_text(letters)).view(f"u{wide // 8}")[:4, :4]
    assert got.tolist() == want.tolist()


def test_saturation_at_both_ends_of_the_result() -> None:
    a, b = np.full((4, 8), 127, np.int8), np.full((8, 4), 127, np.int8)
    c = np.full((4, 4), 2**31 - 1, np.int32)
    got = muladd("s8 s8 s32 s32", a, b, c, flag_text("abcr", saturating=True)).view(np.int32)[:4, :4]
    assert (got == 2**31 - 1).all()
    got = muladd("s8 s8 s32 s32", a, -b, -c - 1, flag_text("abcr", saturating=True)).view(np.int32)[:4, :4]
    assert (got == -(2**31)).all()
    got = muladd("u8 u8 u32 u32", a.view(np.uint8), b.view(np.uint8), np.full((4, 4), 2**32 - 5, np.uint32), flag_text("", saturating=True))
    assert (got.view(np.uint32)[:4, :4] == 2**32 - 1).all()
    got = muladd("s8 s8 s32 s32", a, b, np.full((4, 4), 5, np.int32), flag_text("abcr", saturating=True)).view(np.int32)[:4, :4]
    assert (got == 8 * 127 * 127 + 5).all()


def test_saturation_of_64_bits_is_exact() -> None:
    a, b = np.full((4, 8), 2**30, np.int64), np.full((8, 4), 2**29, np.int64)
    for c, want in ((2**62, 2**63 - 1), (2**62 - 1, 2**63 - 1), (2**62 - 2, 2**63 - 2)):
        got = muladd("s64 s64 s64 s64", a, b, np.full((4, 4), c, np.int64), flag_text("abcr", saturating=True)).view(np.int64)[:4, :4]
        assert (got == want).all()


def test_a_product_that_leaves_the_range_of_a_saturating_result() -> None:
    from cts.devices.device import UndefinedBehaviour

    a, b, c = np.full((4, 8), 127, np.int8), np.full((8, 4), 127, np.int8), np.zeros((4, 4), np.int16)
    with pytest.raises(UndefinedBehaviour, match="KHR-MAD-10"):
        muladd("s8 s8 s16 s16", a, b, c, flag_text("abcr", saturating=True))
    # Partial sums in another order would leave the range, although the whole sum is 0.
    alternating = np.where(np.arange(8)[:, None] % 2, b, -b).astype(np.int8)
    with pytest.raises(UndefinedBehaviour, match="KHR-MAD-10"):
        muladd("s8 s8 s16 s16", a, alternating, c, flag_text("abcr", saturating=True))
    got = muladd("s8 s8 s16 s16", a, alternating, c, flag_text("abcr")).view(np.int16)[:4, :4]
    assert (got == 0).all()


@pytest.mark.parametrize(
    ("types", "dtype", "result"),
    [
        ("f16 f16 f32 f32", np.float16, np.float32),
        ("f32 f32 f64 f64", np.float32, np.float64),
        ("f64 f64 f64 f64", np.float64, np.float64),
        ("f16 f16 f16 f16", np.float16, np.float16),
    ],
)
def test_floats_multiply_and_add(types, dtype, result) -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-8, 8, s).astype(dtype) for s in (SHAPE_A, SHAPE_B))
    c = rng.integers(-8, 8, SHAPE_C).astype(result)
    want = a.astype(np.float64) @ b.astype(np.float64) + c
    got = muladd(types, a, b, c).view(result)[:4, :4]
    assert got.tolist() == want.tolist()


def element_loop(body: str) -> str:
    """Runs ``body`` for each component ``%i`` of the variable ``%v``."""
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
    body = body.replace("%entry %next", "%entry %next")
    given = np.arange(rows * columns, dtype=np.uint32)
    got = result(shader(body, declarations), given.view(np.uint8), 4 * rows * columns, subgroups=1, mapping=mapping)
    assert got.tolist() == (given * 3).tolist()


def test_a_matrix_is_undefined_until_each_component_is_written(forbidden, result) -> None:
    body = VARIABLE + element_loop("OpStore %component %lane") + "%m = OpLoad %square %v\n" + store()
    assert set(result(shader(body, SQUARE + POINTERS)).tolist()) == {0, 1, 2, 3}
    one = VARIABLE + "%component = OpAccessChain %ptr_component %v %u32_1\nOpStore %component %lane\n%m = OpLoad %square %v\n" + store()
    assert "undefined" in forbidden(shader(one, SQUARE + POINTERS))


def test_extract_and_insert_act_on_the_own_component(result) -> None:
    body = (
        load("square")
        + "%x = OpCompositeExtract %u32 %m 2\n%y = OpIAdd %u32 %x %u32_1000\n%n = OpCompositeInsert %square %y %m 2\n"
        + store("n")
    )
    got = result(shader(body, SQUARE), NUMBERS)
    assert got.tolist() == [100 + i + (1000 if 8 <= i < 12 else 0) for i in range(16)]


def test_a_component_beyond_the_length(forbidden) -> None:
    assert "KHR-LEN-02" in forbidden(shader(load("square") + "%x = OpCompositeExtract %u32 %m 4\n", SQUARE), NUMBERS)


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
    assert "division by zero" in forbidden(shader(body, SQUARE), NUMBERS)


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


def divergent(body: str) -> str:
    return f"""
%low = OpULessThan %bool %lane %u32_2
OpSelectionMerge %merge None
OpBranchConditional %low %some %merge
%some = OpLabel
{body}
OpBranch %merge
%merge = OpLabel
"""


A, B, C = matrix("a4", "u32", 4, 4, 0), matrix("b4", "u32", 4, 4, 1), SQUARE
F = matrix("f4", "f32", 4, 4, 2)
WIDE = matrix("c8", "u32", 4, 8, 2)
TYPES = A + B + C + F + WIDE + matrix("wide", "u32", 4, 4, 2, scope=2) + "%ptr_local = OpTypePointer Function %u32\n"
OPERANDS = load("a4", "a") + load("b4", "b") + load("square", "c")

BROKEN = {
    "KHR-UNI-01 of a load": (divergent(load("square")), "2 of 4 invocations", "KHR-UNI-01"),
    "KHR-UNI-01 of arithmetic": (load("square") + divergent("%n = OpIAdd %square %m %m"), "OpIAdd", "KHR-UNI-01"),
    "KHR-UNI-01 of a multiply-add": (OPERANDS + divergent("%d = OpCooperativeMatrixMulAddKHR %square %a %b %c"), "MulAdd", "KHR-UNI-01"),
    "KHR-UNI-02 of the pointer": (load("square", at="%lane"), "the pointer is not uniform", "KHR-UNI-02"),
    "KHR-UNI-02 of the stride": (
        "%s = OpIAdd %u32 %lane %u32_4\n" + load("square", stride="%s"),
        "the stride is not uniform",
        "KHR-UNI-02",
    ),
    "KHR-UNI-02 of a splat": ("%m = OpCompositeConstruct %square %lane", "the constituent is not uniform", "KHR-UNI-02"),
    "KHR-LOAD-02": (load("square", layout="%u32_7"), "layout 7", "KHR-LOAD-02"),
    "KHR-LOAD-02 not a constant": (load("square", layout="%subgroup"), "not a constant", "KHR-LOAD-02"),
    "KHR-LOAD-06": (
        "%p = OpAccessChain %ptr_in %input %s32_0 %u32_0\n%m = OpCooperativeMatrixLoadKHR %square %p %u32_0",
        "without a stride",
        "KHR-LOAD-06",
    ),
    "KHR-LOAD-05": ("%minus = OpCopyObject %s32 %s32_-4\n" + load("square", stride="%minus"), "negative stride", "KHR-LOAD-05"),
    "KHR-LOAD-09": (load("square", operands="MakePointerAvailable|NonPrivatePointer %u32_2"), "MakePointerAvailable", "KHR-LOAD-09"),
    "KHR-STORE-04": (
        load("square") + store(operands="MakePointerVisible|NonPrivatePointer %u32_2"),
        "MakePointerVisible",
        "KHR-STORE-04",
    ),
    "KHR-STORE-02": (load("square") + store(stride="%u32_0"), "elements overlap", "KHR-STORE-02"),
    "F-KHR-1": (load("c8", stride="%u32_0") + store("m"), "elements overlap", "F-KHR-1"),
    "KHR-ALIGN-01 of the pointer": (load("square", at="%u32_1"), "not aligned to 16 bytes of a row", "KHR-ALIGN-01"),
    "KHR-ALIGN-01 of the stride": (load("square", stride="%u32_5"), "a stride of 20 bytes", "KHR-ALIGN-01"),
    "Aligned": (load("square", at="%u32_4", operands="Aligned 32"), "the promised 32", "Aligned"),
    "out of bounds": (load("square", at="%u32_4"), "out of bounds", "KHR-MEM-02"),
    "a store out of bounds": (load("square") + store(at="%u32_4"), "out of bounds", "KHR-MEM-02"),
    "NonWritable": (
        load("square") + "OpCooperativeMatrixStoreKHR %m_from %m %u32_0 %u32_4",
        "NonWritable",
        "NonWritable",
    ),
    "KHR-PTR-02": ("%m = OpCooperativeMatrixLoadKHR %square %input %u32_0 %u32_4", "neither a scalar nor a vector", "KHR-PTR-02"),
    "VUID-08973": (
        "%p = OpVariable %ptr_local Function\n%m = OpCooperativeMatrixLoadKHR %square %p %u32_0 %u32_4",
        "Function storage",
        "Pointer-08973",
    ),
    "KHR-LOAD-07": (load("square", stride="%f32_4.0"), "not a scalar integer", "KHR-LOAD-07"),
    "KHR-LEN-01": ("%n = OpCooperativeMatrixLengthKHR %s32 %square", "32-bit unsigned", "KHR-LEN-01"),
    "KHR-MAD-02": (OPERANDS + "%d = OpCooperativeMatrixMulAddKHR %wide %a %b %c", "different scopes", "KHR-MAD-02"),
    "undefined": ("%m = OpUndef %square\n" + store(), "undefined", "OpUndef"),
    "KHR-MAD-01 uses": (OPERANDS + "%d = OpCooperativeMatrixMulAddKHR %square %b %a %c", "uses", "KHR-MAD-01"),
    "KHR-MAD-01 sizes": (OPERANDS + "%d = OpCooperativeMatrixMulAddKHR %c8 %a %b %c", "sizes", "KHR-MAD-01"),
    "KHR-MAD-13": (OPERANDS + "%d = OpCooperativeMatrixMulAddKHR %f4 %a %b %c", "integer and floating-point", "KHR-MAD-13"),
    "KHR-ARI-03": (load("square") + "%n = OpFAdd %square %m %m", "OpFAdd", "KHR-ARI-03"),
    "KHR-ARI-04": (OPERANDS + "%n = OpIAdd %square %a %c", "one matrix type", "KHR-ARI-04"),
    "KHR-ARI-06": (load("square") + "%n = OpBitwiseAnd %square %m %m", "OpBitwiseAnd", "KHR-ARI-06"),
    "KHR-CVT-02": (OPERANDS + "%n = OpConvertUToF %f4 %a", "same scope, rows", "KHR-CVT-02"),
    "KHR-CVT-03": (load("square") + "%n = OpBitcast %f4 %m", "only integers", "KHR-CVT-03"),
    "KHR-COMP-02": ("%m = OpCompositeConstruct %square %u32_1 %u32_2", "one scalar", "KHR-COMP-02"),
    "F-KHR-5": (OPERANDS + "%n = OpSelect %square %true %c %c", "OpSelect", "F-KHR-5"),
}


@pytest.mark.parametrize("which", BROKEN)
def test_each_broken_rule_is_named(forbidden, which) -> None:
    body, says, rule = BROKEN[which]
    message = forbidden(shader(body, TYPES), NUMBERS)
    assert says in message
    assert rule in message.rpartition("[")[2], message


def test_signed_flags_on_floats(forbidden) -> None:
    module = muladd_module("f32 f32 f32 f32", flag_text("a"))
    assert "KHR-MAD-11" in forbidden(module, np.zeros(4096, np.uint8))


@pytest.mark.parametrize(
    ("declaration", "rule"),
    [
        (matrix("bad", "u32", 4, 4, 3), "KHR-TYPE-04"),
        (matrix("bad", "u32", 4, 4, 2, scope=1), "Scope-12243"),
        (SQUARE + "%p = OpTypePointer Workgroup %square\n%w = OpVariable %p Workgroup", "KHR-TYPE-05"),
        (SQUARE + "%two = OpConstantComposite %square %u32_1 %u32_2", "KHR-COMP-01"),
    ],
)
def test_declarations_that_break_a_rule(forbidden, declaration, rule) -> None:
    assert rule in forbidden(shader("", declaration))


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
