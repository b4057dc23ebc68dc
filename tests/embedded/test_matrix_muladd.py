"""OpCooperativeMatrixMulAddKHR: signs, saturation and floats."""

from __future__ import annotations

import numpy as np
import pytest

from tests.embedded.assembly import shader
from tests.embedded.conftest import run
from tests.embedded.matrices import load, matrix, store
from tests.undefined import undefined

MULADD = "%d = OpCooperativeMatrixMulAddKHR %md %a %b %c {}\n"


def muladd_module(types: str, flags: str = "", shape: tuple[int, int, int] = (2, 3, 4)) -> bytes:
    """Build a module with A, B and C one after another in the input, in slots of 256 bytes each."""
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
    """Run a multiply-add of a, b, c: numpy arrays of the components' own dtypes."""
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
    a, b, c = np.full((4, 8), 127, np.int8), np.full((8, 4), 127, np.int8), np.zeros((4, 4), np.int16)
    with undefined("KHR-MAD-10"):
        muladd("s8 s8 s16 s16", a, b, c, flag_text("abcr", saturating=True))
    # Partial sums in another order would leave the range, although the whole sum is 0.
    alternating = np.where(np.arange(8)[:, None] % 2, b, -b).astype(np.int8)
    with undefined("KHR-MAD-10"):
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


def test_signed_flags_on_floats(forbidden) -> None:
    module = muladd_module("f32 f32 f32 f32", flag_text("a"))
    assert forbidden(module, np.zeros(4096, np.uint8)).rule == "KHR-MAD-11"
