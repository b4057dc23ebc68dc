"""Changes of use: OpCooperativeMatrixConvertNV, OpCooperativeMatrixTransposeNV, and conversions that also change the component type."""

from __future__ import annotations

import numpy as np
import pytest

from tests.embedded.assembly import shader, words
from tests.embedded.matrices import divergent, load, matrix, store

CAPABILITIES = ("CooperativeMatrixConversionsNV",)
EXTENDED = "CooperativeMatrixConversionsEXT"
FROM = matrix("from", "u32", 4, 8, 2)
NUMBERS = words(*range(100, 132))
GIVEN = np.arange(100, 132).reshape(4, 8)


def moved(op: str, to: str, from_: str = FROM, stride: int = 8, capabilities: tuple[str, ...] = CAPABILITIES, **options: object) -> bytes:
    body = load("from", stride="%u32_8") + f"%r = Op{op} %to %m\n" + store("r", stride=f"%u32_{stride}")
    return shader(body, from_ + to, capabilities=capabilities, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("use", [0, 1])
@pytest.mark.parametrize("capability", ["CooperativeMatrixConversionsNV", "CooperativeMatrixConversionsEXT"])
def test_an_accumulator_becomes_a_or_b(result, use, capability) -> None:
    module = moved("CooperativeMatrixConvertUseEXT", matrix("to", "u32", 4, 8, use), capabilities=(capability,))
    assert result(module, NUMBERS, 128).reshape(4, 8).tolist() == GIVEN.tolist()


@pytest.mark.parametrize("use", [0, 1])
def test_a_or_b_becomes_an_accumulator_where_the_later_extension_is_declared(result, forbidden, use) -> None:
    from_, to = matrix("from", "u32", 4, 8, use), matrix("to", "u32", 4, 8, 2)
    module = moved("CooperativeMatrixConvertUseEXT", to, from_, capabilities=("CooperativeMatrixConversionsEXT",))
    assert result(module, NUMBERS, 128).reshape(4, 8).tolist() == GIVEN.tolist()
    assert forbidden(moved("CooperativeMatrixConvertUseEXT", to, from_), NUMBERS, 128).rule == "CM2-CVT-03"


@pytest.mark.parametrize(("from_use", "use"), [(2, 0), (2, 1), (0, 2), (1, 2)])
@pytest.mark.parametrize(("source", "target"), [("u32", "s32"), ("s32", "u32")])
def test_with_the_later_extension_the_sign_of_the_components_may_change_too(result, from_use, use, source, target) -> None:
    from_, to = matrix("from", source, 4, 8, from_use), matrix("to", target, 4, 8, use)
    options = {"buffer_type": target, "input_type": source, "capabilities": (EXTENDED,)}
    given = np.array([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, *range(27)], np.uint32)
    got = result(moved("CooperativeMatrixConvertUseEXT", to, from_, **options), given.view(np.uint8), 128)
    assert got.tolist() == given.tolist()


def test_a_transposition_swaps_rows_and_columns_of_each_subgroup(result) -> None:
    body = (
        "%at = OpIMul %u32 %subgroup %u32_32\n"
        + load("from", at="%at", stride="%u32_8")
        + "%r = OpCooperativeMatrixTransposeNV %to %m\n"
        + store("r", at="%at", stride="%u32_4")
    )
    module = shader(body, FROM + matrix("to", "u32", 8, 4, 1), capabilities=CAPABILITIES)
    got = result(module, words(*range(64)), 256, subgroups=2).reshape(2, 8, 4)
    assert got.tolist() == np.arange(64).reshape(2, 4, 8).swapaxes(1, 2).tolist()


def test_an_undefined_element_stays_undefined_where_it_goes(forbidden) -> None:
    body = (
        "%none = OpUndef %from\n%one = OpCompositeInsert %from %u32_7 %none 0\n"
        "%r = OpCooperativeMatrixTransposeNV %to %one\n%x = OpCompositeExtract %u32 %r 1\n"
        "%place = OpAccessChain %ptr_out %output %s32_0 %lane\nOpStore %place %x\n"
    )
    assert "undefined" in str(forbidden(shader(body, FROM + matrix("to", "u32", 8, 4, 1), capabilities=CAPABILITIES)))


CONVERSIONS = {
    "UConvert": ("u32", "u8", [0x1FF, 5], [0xFF, 5]),
    "SConvert": ("u32", "u8", [0x1FF, 5], [0xFF, 5]),
    "ConvertFToU": ("f32", "u8", [200.5, 5.9], [200, 5]),
    "ConvertFToS": ("f32", "s8", [-100.5, 5.9], [-100, 5]),
    "FConvert": ("f32", "f16", [1.5, -3.0], [1.5, -3.0]),
    "ConvertSToF": ("s32", "f16", [-7, 5], [-7.0, 5.0]),
}
DTYPES = {"u8": np.uint8, "s8": np.int8, "u32": np.uint32, "s32": np.int32, "f16": np.float16, "f32": np.float32}


@pytest.mark.parametrize("use", [0, 1])
@pytest.mark.parametrize("op", CONVERSIONS)
def test_a_conversion_may_change_the_use_as_well(result, forbidden, op, use) -> None:
    source, target, given, want = CONVERSIONS[op]
    data = np.zeros(32, DTYPES[source])
    data[:2] = given
    from_, to = matrix("from", source, 4, 8, 2), matrix("to", target, 4, 8, use)
    stride = 8 * np.dtype(DTYPES[target]).itemsize
    assert stride in (8, 16)
    options = {"buffer_type": target, "input_type": source}
    got = result(moved(op, to, from_, **options), data.view(np.uint8), 128, dtype=DTYPES[target])
    assert got[:2].tolist() == want
    assert forbidden(moved(op, to, from_, capabilities=(), **options), data.view(np.uint8), 128).rule == "KHR-CVT-02"
    back = moved(op, matrix("to", target, 4, 8, 2), matrix("from", source, 4, 8, use), **options)
    assert forbidden(back, data.view(np.uint8), 128).rule == "KHR-CVT-02"


def test_a_conversion_that_changes_the_size_too_stops(forbidden) -> None:
    assert forbidden(moved("ConvertUToF", matrix("to", "f32", 8, 4, 0)), NUMBERS).rule == "KHR-CVT-02"


def test_a_bit_cast_keeps_the_use(forbidden) -> None:
    assert forbidden(moved("Bitcast", matrix("to", "s32", 4, 8, 0)), NUMBERS).rule == "KHR-CVT-02"


def test_an_undefined_matrix_may_move_but_not_be_stored(forbidden) -> None:
    body = "%m = OpUndef %from\n%r = OpCooperativeMatrixConvertUseEXT %to %m\n" + store("r", stride="%u32_8")
    text = str(forbidden(shader(body, FROM + matrix("to", "u32", 4, 8, 0), capabilities=CAPABILITIES), NUMBERS, 128))
    assert text.startswith("OpCooperativeMatrixStoreKHR")


WRONG = {
    "another sign": ("CooperativeMatrixConvertUseEXT", matrix("to", "s32", 4, 8, 0), FROM, CAPABILITIES, "CM2-CVT-03"),
    "other rows": ("CooperativeMatrixConvertUseEXT", matrix("to", "u32", 8, 4, 0), FROM, CAPABILITIES, "CM2-CVT-03"),
    "another scope": ("CooperativeMatrixConvertUseEXT", matrix("to", "u32", 4, 8, 0, 2), FROM, CAPABILITIES, "CM2-CVT-03"),
    "A to B": ("CooperativeMatrixConvertUseEXT", matrix("to", "u32", 4, 8, 1), matrix("from", "u32", 4, 8, 0), CAPABILITIES, "CM2-CVT-03"),
    "A to B with the later extension": (
        "CooperativeMatrixConvertUseEXT",
        matrix("to", "u32", 4, 8, 1),
        matrix("from", "u32", 4, 8, 0),
        (EXTENDED,),
        "M1-USE-03",
    ),
    "other rows with the later extension": ("CooperativeMatrixConvertUseEXT", matrix("to", "u32", 8, 4, 0), FROM, (EXTENDED,), "M1-USE-05"),
    "another width": ("CooperativeMatrixConvertUseEXT", matrix("to", "s16", 4, 8, 0), FROM, (EXTENDED,), "M1-USE-04"),
    "a float": ("CooperativeMatrixConvertUseEXT", matrix("to", "f32", 4, 8, 0), FROM, (EXTENDED,), "M1-USE-04"),
    "another scope with the later extension": (
        "CooperativeMatrixConvertUseEXT",
        matrix("to", "u32", 4, 8, 0, 2),
        FROM,
        (EXTENDED,),
        "M1-USE-04",
    ),
    "transposed to A": ("CooperativeMatrixTransposeNV", matrix("to", "u32", 8, 4, 0), FROM, CAPABILITIES, "CM2-TR-01"),
    "transposed from A": (
        "CooperativeMatrixTransposeNV",
        matrix("to", "u32", 8, 4, 1),
        matrix("from", "u32", 4, 8, 0),
        CAPABILITIES,
        "CM2-TR-01",
    ),
    "transposed without swapped sizes": ("CooperativeMatrixTransposeNV", matrix("to", "u32", 4, 8, 1), FROM, CAPABILITIES, "CM2-TR-01"),
    "transposed to another scope": ("CooperativeMatrixTransposeNV", matrix("to", "u32", 8, 4, 1, 2), FROM, CAPABILITIES, "CM2-TR-01"),
    "transposed to another type": ("CooperativeMatrixTransposeNV", matrix("to", "f32", 8, 4, 1), FROM, CAPABILITIES, "CM2-TR-03"),
}


def test_an_accumulator_does_not_become_an_accumulator(forbidden) -> None:
    body = load("from", stride="%u32_8") + "%r = OpCooperativeMatrixConvertUseEXT %from %m\n"
    assert forbidden(shader(body, FROM, capabilities=CAPABILITIES), NUMBERS).rule == "CM2-CVT-03"


@pytest.mark.parametrize("what", WRONG)
def test_a_rule_of_moves_stops(forbidden, what) -> None:
    op, to, from_, capabilities, rule = WRONG[what]
    assert forbidden(moved(op, to, from_, capabilities=capabilities), NUMBERS).rule == rule


@pytest.mark.parametrize("op", ["CooperativeMatrixConvertUseEXT", "CooperativeMatrixTransposeNV"])
def test_a_move_by_a_part_of_the_subgroup_stops(forbidden, op) -> None:
    to = matrix("to", "u32", 4, 8, 1) if op == "CooperativeMatrixConvertUseEXT" else matrix("to", "u32", 8, 4, 1)
    body = load("from", stride="%u32_8") + divergent(f"%r = Op{op} %to %m")
    assert forbidden(shader(body, FROM + to, capabilities=CAPABILITIES), NUMBERS).rule == "KHR-UNI-01"
