"""Conversions allow the neighbours of the exact value, found here by searching all values of the result type, and nothing else."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from cts.reference.conversion import convert_value
from cts.reference.muladd import multiply_add
from cts.reference.values import MatrixValue
from generators.errors import Rule
from generators.program.conversion import Conversion, conversions
from generators.types import COMPONENT_TYPES, ComponentType
from tests.broken_rules import breaks

TYPES = COMPONENT_TYPES
PAIRS = [(s.name, t.name, c) for s in TYPES.values() for t in TYPES.values() for c in conversions(s, t)]


def value(component: str, bits) -> MatrixValue:
    type_ = TYPES[component]
    return MatrixValue(type_, np.array(bits, type_.bits_dtype).reshape(1, 1, -1))


def allowed_sets(result: MatrixValue) -> list[set[int]]:
    return [{int(bits) for bits in column} for column in zip(*(a.ravel() for a in result.expected_bits), strict=True)]


def number(component: ComponentType, bits: int, signed: bool) -> Fraction:
    if not component.is_float:
        return Fraction(bits - (1 << component.bits) if signed and bits >> (component.bits - 1) else bits)
    return Fraction(float(np.array(bits, component.bits_dtype).view(component.dtype)[()]))


@cache
def finite_values(name: str) -> tuple[list[Fraction], list[int]]:
    """Return all finite values of an 8- or 16-bit float, ascending, without minus zero; and their bits."""
    component = TYPES[name]
    pairs = []
    for bits in range(1 << component.bits):
        x = float(np.array(bits, component.bits_dtype).view(component.dtype)[()])
        if math.isfinite(x) and (x != 0 or bits == 0):
            pairs.append((Fraction(x), bits))
    pairs.sort()
    return [x for x, _ in pairs], [bits for _, bits in pairs]


def searched(name: str, x: Fraction) -> set[int]:
    """Return the bits of the neighbours of ``x``, in range."""
    numbers, bits = finite_values(name)
    return {bits[bisect_right(numbers, x) - 1], bits[bisect_left(numbers, x)]}


def samples(component: ComponentType, rng: np.random.Generator) -> np.ndarray:
    if component.bits == 8:
        return np.arange(256, dtype=np.uint8)
    random = rng.integers(0, 1 << component.bits, 400, dtype=np.uint64)
    if not component.is_float:
        return (random >> rng.integers(0, component.bits, 400, dtype=np.uint64)).astype(component.bits_dtype)
    exact = (rng.choice([-1.0, 1.0], 400) * (1 + rng.random(400)) * 2.0 ** rng.integers(-26, 15, 400)).astype(component.dtype)
    return np.concatenate([exact.view(component.bits_dtype), random.astype(component.bits_dtype)])


@pytest.mark.parametrize(("source", "target", "conversion"), [p for p in PAIRS if TYPES[p[1]].is_float and TYPES[p[1]].bits <= 16])
def test_a_float_result_is_one_of_the_two_neighbours(source, target, conversion):
    from_, to = TYPES[source], TYPES[target]
    bits = samples(from_, np.random.default_rng(5))
    largest = finite_values(target)[0][-1]
    signed = conversion is Conversion.S_TO_F
    if from_.is_float:
        with np.errstate(invalid="ignore"):
            bits = bits[np.isfinite(bits.view(from_.dtype).astype(np.float64))]
    exact = [number(from_, int(b), signed) for b in bits]
    keep = [i for i, x in enumerate(exact) if abs(x) <= largest]
    found = allowed_sets(convert_value(value(source, bits[keep]), to, conversion))
    minus = 1 << (to.bits - 1)
    for i, got in zip(keep, found, strict=True):
        x = exact[i]
        wanted = searched(target, x)
        assert wanted <= {b & ~minus if b == minus else b for b in got}, (float(x), wanted, got)
        extra = got - wanted - {0, minus}
        assert not extra, (float(x), wanted, got)
        if 0 not in wanted and got & {0, minus}:
            small = Fraction(float(np.finfo(np.float32).tiny)) if from_.name in ("f32", "bf16") else Fraction(1, 1 << 6)
            assert abs(x) < max(small, Fraction(1, 1 << 6)), f"zero for {float(x)}"


@pytest.mark.parametrize(("source", "target", "conversion"), [p for p in PAIRS if not TYPES[p[0]].is_float and p[1] in ("f32", "f64")])
def test_integers_become_the_neighbouring_floats(source, target, conversion):
    from_, to = TYPES[source], TYPES[target]
    edges = [0, 1, (1 << from_.bits) - 1, 1 << (from_.bits - 1), (1 << (from_.bits - 1)) - 1]
    ties = [(1 << k) + d for k in range(24, from_.bits) for d in (-1, 1, 1 << max(0, k - 24), 3 << max(0, k - 24), (1 << max(0, k - 53)))]
    bits = np.array([b % (1 << from_.bits) for b in (*edges, *ties)], np.uint64).astype(from_.bits_dtype)
    found = allowed_sets(convert_value(value(source, bits), to, conversion))
    for b, got in zip(bits, found, strict=True):
        x = number(from_, int(b), conversion is Conversion.S_TO_F)
        near = to.dtype.type(int(x))
        around = [np.nextafter(near, to.dtype.type(d)) for d in (-np.inf, np.inf)]
        numbers = sorted([Fraction(float(near)), *(Fraction(float(y)) for y in around)])
        wanted = {max(y for y in numbers if y <= x), min(y for y in numbers if y >= x)}
        assert {Fraction(float(np.array(g, to.bits_dtype).view(to.dtype)[()])) for g in got} == wanted


@pytest.mark.parametrize(("source", "target", "conversion"), [p for p in PAIRS if not TYPES[p[0]].is_float and not TYPES[p[1]].is_float])
def test_integers_keep_the_low_bits_and_are_extended_as_the_instruction_says(source, target, conversion):
    from_, to = TYPES[source], TYPES[target]
    bits = samples(from_, np.random.default_rng(6))
    signed = conversion is Conversion.S_TO_S
    wanted = [number(from_, int(b), signed) % (1 << to.bits) for b in bits]
    assert allowed_sets(convert_value(value(source, bits), to, conversion)) == [{int(w)} for w in wanted]


@pytest.mark.parametrize(
    ("source", "bits", "target", "conversion", "wanted"),
    [
        ("f32", [0x42FFFFFF, 0xC300FFFF, 0xBF7FFFFF], "s8", Conversion.F_TO_S, [0x7F, 0x80, 0x00]),
        ("f32", [0x437FFFFF, 0xBF7FFFFF, 0x3F7FFFFF], "u8", Conversion.F_TO_U, [0xFF, 0x00, 0x00]),
        ("f32", [0xC3000000], "u8", Conversion.F_TO_S, [0x80]),
        ("f64", [0x43DFFFFFFFFFFFFF, 0xC3E0000000000000], "s64", Conversion.F_TO_S, [0x7FFFFFFFFFFFFC00, 0x8000000000000000]),
        ("f64", [0x43EFFFFFFFFFFFFF], "u64", Conversion.F_TO_U, [0xFFFFFFFFFFFFF800]),
    ],
)
def test_floats_are_truncated(source, bits, target, conversion, wanted):
    assert allowed_sets(convert_value(value(source, bits), TYPES[target], conversion)) == [{w} for w in wanted]


@pytest.mark.parametrize(
    ("bits", "target", "conversion", "rule"),
    [
        (0x43000000, "s8", Conversion.F_TO_S, Rule.CONVERSION_RANGE),  # 128
        (0xC3010000, "s8", Conversion.F_TO_S, Rule.CONVERSION_RANGE),  # -129
        (0x43800000, "u8", Conversion.F_TO_U, Rule.CONVERSION_RANGE),  # 256
        (0xBF800000, "u8", Conversion.F_TO_U, Rule.CONVERSION_RANGE),  # -1
        (0x43000000, "u8", Conversion.F_TO_S, Rule.CONVERSION_RANGE),  # 128 does not fit a signed result of 8 bits
        (0x7F800000, "f16", Conversion.F_TO_F, Rule.NOT_FINITE),
        (0x7FC00000, "f16", Conversion.F_TO_F, Rule.NOT_FINITE),
        (0x7FC00000, "e4m3", Conversion.F_TO_F, Rule.NOT_FINITE),
    ],
)
def test_undefined_or_unpromised_results_are_refused(bits, target, conversion, rule):
    with breaks(rule):
        convert_value(value("f32", [bits]), TYPES[target], conversion)


OVERFLOW = [
    # 65505 and the largest f32 are above the largest f16.
    ("f32", [0x477FE100, 0x7F7FFFFF, 0xC77FE100], "f16", False, [{0x7BFF, 0x7C00}, {0x7BFF, 0x7C00}, {0xFBFF, 0xFC00}]),
    ("f32", [0x7F7FFFFF, 0x7F7F0000], "bf16", False, [{0x7F7F, 0x7F80}, {0x7F7F}]),
    # 449, 464 and 479 may round to 448; 480 is out of range however it is rounded
    ("f32", [0x43E08000, 0x43E80000, 0x43EF8000, 0x43F00000], "e4m3", False, [{0x7E, 0x7F}, {0x7E, 0x7F}, {0x7E, 0x7F}, {0x7F}]),
    ("f32", [0x43E08000, 0x43F00000, 0xFF7FFFFF, 0x7F800000], "e4m3", True, [{0x7E}, {0x7E}, {0xFE}, {0x7E}]),
    # 57345 and 65535 may round to 57344
    ("f32", [0x47600100, 0x477FFF00, 0x47800000, 0xC7800000], "e5m2", False, [{0x7B, 0x7C}, {0x7B, 0x7C}, {0x7C}, {0xFC}]),
    ("f32", [0x47600100, 0x47800000, 0xFF800000], "e5m2", True, [{0x7B}, {0x7B}, {0xFB}]),
]


@pytest.mark.parametrize(("source", "bits", "target", "saturating", "wanted"), OVERFLOW)
def test_numbers_beyond_the_largest_value(source, bits, target, saturating, wanted):
    result = convert_value(value(source, bits), TYPES[target], Conversion.F_TO_F, saturating)
    assert [{b & 0x7F if target == "e4m3" and b & 0x7F == 0x7F else b for b in got} for got in allowed_sets(result)] == wanted


def test_anything_is_permitted_beyond_the_largest_value_except_for_8_bit_floats():
    converted = convert_value(value("f32", [0x477FE100, 0x3F800000]), TYPES["f16"], Conversion.F_TO_F)
    expectation = converted.expectation()
    for bits in (0x7E00, 0x0000, 0x7C00, 0x1234):
        assert expectation.permitted.contains(np.full((1, 1, 2), bits, np.uint16)).tolist() == [[[True, False]]]
    assert expectation.expected.contains(np.full((1, 1, 2), 0x7E00, np.uint16)).tolist() == [[[False, False]]]
    assert expectation.authority.quality == "F-KHR-23"
    assert convert_value(value("f32", [0x43F00000]), TYPES["e4m3"], Conversion.F_TO_F).permitted is None


def test_any_nan_is_allowed_where_the_text_says_nan_and_nowhere_else():
    allowed = convert_value(value("f32", [0x43F00000, 0x43000000]), TYPES["e4m3"], Conversion.F_TO_F).expectation().expected
    assert allowed.contains(np.array([[[0xFF, 0x70]]], np.uint8)).tolist() == [[[True, True]]]
    assert allowed.contains(np.array([[[0x7E, 0x7F]]], np.uint8)).tolist() == [[[False, False]]]


@pytest.mark.parametrize(
    ("source", "bits", "target", "wanted"),
    [
        ("e4m3", [0x01, 0x87], "f16", [{0x1800}, {0xA300}]),
        ("e5m2", [0x01, 0x83], "f16", [{0x0100}, {0x8300}]),
        ("e5m2", [0x01], "f32", [{0x37800000, 0}]),
        ("f16", [0x0001], "f32", [{0x33800000, 0}]),
        ("f32", [0x33800000], "f16", [{0x0001, 0}]),
    ],
)
def test_denormals_may_be_taken_for_zero_except_from_8_bit_floats_to_f16(source, bits, target, wanted):
    assert allowed_sets(convert_value(value(source, bits), TYPES[target], Conversion.F_TO_F)) == wanted


def test_a_chain_may_skip_a_rounding_but_not_a_truncation():
    tie = convert_value(value("f32", [0x3F801000]), TYPES["f16"], Conversion.F_TO_F)
    assert allowed_sets(convert_value(tie, TYPES["f32"], Conversion.F_TO_F)) == [{0x3F800000, 0x3F801000, 0x3F802000}]
    # In f16, 4097 becomes 4096 or 4100.
    rounded = convert_value(value("s16", [0x1001]), TYPES["f16"], Conversion.S_TO_F)
    assert allowed_sets(convert_value(rounded, TYPES["s32"], Conversion.F_TO_S)) == [{0x1000, 0x1001, 0x1004}]
    assert allowed_sets(convert_value(rounded, TYPES["f32"], Conversion.F_TO_F)) == [{0x45800000, 0x45800800, 0x45802000}]
    # 5.5 becomes the integer 5, and stays 5
    whole = convert_value(value("f32", [0x40B00000]), TYPES["s8"], Conversion.F_TO_S)
    assert allowed_sets(convert_value(whole, TYPES["f32"], Conversion.S_TO_F)) == [{0x40A00000}]


def test_a_value_of_several_possible_bits_can_be_converted_on_but_not_multiplied():
    tie = convert_value(value("f32", [0x3F801000]), TYPES["f16"], Conversion.F_TO_F)
    one = value("f16", [0x3C00])
    for operands in ((tie, one, one), (one, tie, one), (one, one, tie)):
        with breaks(Rule.SEVERAL_VALUES):
            multiply_add(*operands, TYPES["f16"], None)
    assert convert_value(one, TYPES["f32"], Conversion.F_TO_F).expected_bits[1:] == ()
