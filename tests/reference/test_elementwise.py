"""Arithmetic on elements: values derived by hand from the specification's text, and ranges checked against rational numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from cts.reference.elementwise import combine, negated
from cts.reference.evaluate import evaluate
from cts.reference.values import CERTAIN, MatrixValue
from cts.verdict.expected import Interval, ValueSet
from generators.errors import Rule
from generators.program.builder import ProgramBuilder
from generators.program.memory import Pointee
from generators.program.program import Subcase
from generators.types import COMPONENT_TYPES, Layout, Scope
from tests.broken_rules import breaks
from tests.reference.programs import BUFFER, as_bits, as_bytes, matrix_type


def matrix(component: str, *values: float | str) -> MatrixValue:
    return MatrixValue(COMPONENT_TYPES[component], as_bits([values], COMPONENT_TYPES[component])[None])


def numbers(allowed: ValueSet) -> set[float]:
    """Return the allowed values of a matrix of one element."""
    assert not isinstance(allowed, Interval)
    every = np.array([bits[0, 0, 0] for bits in allowed.choices], allowed.component.bits_dtype)
    return {float(v) for v in every.view(allowed.component.dtype)}


@pytest.mark.parametrize(
    ("component", "operator", "left", "right", "allowed"),
    [
        ("f16", "add", 1.0, 2.0**-10, {1 + 2.0**-10}),
        ("f16", "add", 1.0, 2.0**-11, {1.0, 1 + 2.0**-10}),
        ("f32", "add", 1.0, 2.0**-60, {1.0, 1 + 2.0**-23}),
        ("f32", "subtract", 1.0, 2.0**-60, {1.0, 1 - 2.0**-24}),
        ("f32", "add", -1.0, 2.0**-100, {-1.0, -1 + 2.0**-24}),
        ("f64", "subtract", -1.0, 2.0**-100, {-1.0, -1 - 2.0**-52}),
        ("f64", "multiply", 1 + 2.0**-52, 1 + 2.0**-52, {1 + 2.0**-51, 1 + 2.0**-51 + 2.0**-52}),
        ("f16", "multiply", 3.0, -7.0, {-21.0}),
        ("f16", "multiply", 2047.0, 3.0, {6140.0, 6144.0}),
        ("f16", "subtract", 5.0, 5.0, {0.0}),
    ],
)
def test_a_float_result_is_exact_or_either_neighbour(component: str, operator: str, left: float, right: float, allowed: set[float]) -> None:
    assert numbers(combine(operator, matrix(component, left), matrix(component, right)).expectation().expected) == allowed


@pytest.mark.parametrize(
    ("operator", "left", "right", "allowed"),
    [
        ("add", 1.0, 2.0**-9, {1.0}),
        ("add", -1.0, -(2.0**-9), {-1.0}),
        ("add", 1.0, 3 * 2.0**-9, {1.0, 1 + 2.0**-7}),
        ("add", 1.0, 2.0**-8, {1.0}),
        ("add", 1 + 2.0**-7, 2.0**-8, {1 + 2.0**-7, 1 + 2.0**-6}),
        ("subtract", 1.0, 2.0**-10, {1 - 2.0**-8, 1.0}),
        # Binary32 may round to the sum's upper neighbour, which is a bf16 number, so rounding to bf16 in either direction keeps it.
        ("subtract", 1.0, 2.0**-60, {1 - 2.0**-8, 1.0}),
        # Binary32 may round to the middle of two bf16 numbers, and the tie goes to the even one.
        ("add", 1 + 2.0**-7, 2.0**-8 - 2.0**-16, {1 + 2.0**-7}),
        ("multiply", 1 + 2.0**-7, 1 + 2.0**-7, {1 + 2.0**-6}),
        ("divide", 1.0, 3.0, {0.333984375, 0.33203125}),
        ("divide", 5.0, 7.0, {0.7109375, 0.71484375}),
        ("divide", 4.0, 3.0, {1.328125, 1.3359375}),
        ("divide", 6.0, 2.0, {3.0}),
    ],
)
def test_a_bfloat16_result_is_rounded_to_nearest_even_or_toward_zero(operator: str, left: float, right: float, allowed: set[float]) -> None:
    assert numbers(combine(operator, matrix("bf16", left), matrix("bf16", right)).expectation().permitted) == allowed


@pytest.mark.parametrize("component", ["f16", "f32", "f64"])
def test_a_unit_at_a_power_of_two_is_the_smaller_of_the_two_beside_it(component: str) -> None:
    type_ = COMPONENT_TYPES[component]
    expected = combine("divide", matrix(component, 3.0), matrix(component, 3.0)).expectation().expected
    one = int(as_bits([1.0], type_)[0])
    # 2.5 units of half the distance between numbers above 1 permit two numbers below and one above.
    inside = {d: bool(expected.contains(np.array([[[one + d]]], type_.bits_dtype))[0, 0, 0]) for d in range(-4, 5)}
    assert [d for d, is_in in inside.items() if is_in] == [-2, -1, 0, 1]


@pytest.mark.parametrize(
    ("operator", "left", "right", "low", "high"),
    [
        # Exact in 24 bits, operands and result.
        ("add", 1.0, 2.0**-23, 1 + 2.0**-23, 1 + 2.0**-23),
        ("multiply", 4095.0, 4097.0, 4095.0 * 4097.0, 4095.0 * 4097.0),
        # Only the result rounds.
        ("add", 1.0, 2.0**-30, 1.0, 1 + 2.0**-23),
        ("subtract", -1.0, 2.0**-100, -1 - 2.0**-23, -1.0),
        # Operands round, and a difference shows it.
        ("subtract", 1 + 2.0**-40, 1.0, 0.0, 2.0**-23),
        ("multiply", 1 + 2.0**-40, -3.0, -3 - 3 * 2.0**-23, -3.0),
    ],
)
def test_f64_is_permitted_the_precision_of_f32(operator: str, left: float, right: float, low: float, high: float) -> None:
    expectation = combine(operator, matrix("f64", left), matrix("f64", right)).expectation()
    if low == high:
        assert expectation.permitted is expectation.expected
        return
    assert expectation.authority.quality == "F-KHR-13"
    assert isinstance(expectation.permitted, Interval)
    assert low >= float(expectation.permitted.low[0, 0, 0]) >= low - 2.0**-22
    assert high <= float(expectation.permitted.high[0, 0, 0]) <= high + 2.0**-22


def test_f64_keeps_the_precision_of_f32_under_a_negation_and_as_an_operand() -> None:
    third = combine("multiply", matrix("f64", 1 / 3), matrix("f64", 1.0))
    assert isinstance((permitted := third.expectation().permitted), Interval)
    opposite = negated(replace(third, known=CERTAIN)).expectation().permitted
    assert isinstance(opposite, Interval)
    assert (opposite.low, opposite.high) == (-permitted.high, -permitted.low)
    assert negated(matrix("f64", 1 / 3)).expectation().permitted.bits == as_bits([[-1 / 3]], COMPONENT_TYPES["f64"])
    difference = combine("subtract", replace(third, known=CERTAIN), matrix("f64", 1 / 3)).expectation().permitted
    assert isinstance(difference, Interval)
    assert -(2.0**-23) < difference.low < 0 < difference.high < 2.0**-23


def test_denormals_may_be_taken_for_zero() -> None:
    tiny = 2.0**-15
    assert numbers(negated(matrix("f16", tiny)).expectation().expected) == {-tiny, 0.0}
    assert numbers(combine("add", matrix("f16", 1.0), matrix("f16", tiny)).expectation().expected) == {1.0, 1 + 2.0**-10}
    assert numbers(combine("add", matrix("f16", 2.0**-10), matrix("f16", tiny)).expectation().expected) == {2.0**-10, 2.0**-10 + tiny}
    assert numbers(combine("multiply", matrix("f16", 2.0**-8), matrix("f16", 2.0**-8)).expectation().expected) == {2.0**-16, 0.0}


def test_the_sign_of_a_computed_zero_is_free() -> None:
    allowed = combine("subtract", matrix("f32", 5.0), matrix("f32", 5.0)).expectation().expected
    assert allowed.contains(as_bits([["0x80000000"]], COMPONENT_TYPES["f32"])[None]).all()


@pytest.mark.parametrize(
    ("component", "operator", "left", "right", "bits"),
    [
        ("s8", "add", 127, 1, 0x80),
        ("u8", "subtract", 3, 5, 0xFE),
        ("s16", "multiply", -32768, -1, 0x8000),
        ("u64", "multiply", "0xffffffffffffffff", "0xfffffffffffffffe", 2),
        ("s8", "signed_divide", -7, 2, 0xFD),
        ("s8", "signed_divide", 7, -2, 0xFD),
        ("s64", "signed_divide", -(2**63), 2, 3 << 62),
        ("s64", "signed_divide", 2**53 + 1, 1, 2**53 + 1),
        ("u8", "signed_divide", 0xF9, 2, 0xFD),
        ("u8", "unsigned_divide", 0xF9, 2, 0x7C),
    ],
)
def test_an_integer_result_is_exact(component: str, operator: str, left: int, right: int, bits: int) -> None:
    assert combine(operator, matrix(component, left), matrix(component, right)).bits.tolist() == [[[bits]]]


@pytest.mark.parametrize(("component", "value", "bits"), [("s8", -128, 0x80), ("u8", 1, 0xFF), ("s32", 0, 0), ("f16", 1.5, 0xBE00)])
def test_negation(component: str, value: float, bits: int) -> None:
    assert negated(matrix(component, value)).bits.tolist() == [[[bits]]]


@pytest.mark.parametrize("component", ["f16", "f32", "f64"])
def test_a_quotient_is_within_two_and_a_half_units_of_the_last_place(component: str) -> None:
    type_ = COMPONENT_TYPES[component]
    rng = np.random.default_rng(5)
    x, y = (rng.uniform(1, 4, 200).astype(type_.dtype) for _ in range(2))
    quotients = [Fraction(float(a)) / Fraction(float(b)) for a, b in zip(x, y, strict=True)]
    allowed = (
        combine(
            "divide", MatrixValue(type_, x.view(type_.bits_dtype)[None, None]), MatrixValue(type_, y.view(type_.bits_dtype)[None, None])
        )
        .expectation()
        .expected
    )
    central = (x.astype(type_.dtype) / y).view(type_.bits_dtype)
    for distance in range(-7, 8):
        bits = (central.astype(np.int64) + distance).astype(type_.bits_dtype)
        got = allowed.contains(bits[None, None])[0, 0]
        for number, quotient, is_allowed in zip(bits.view(type_.dtype), quotients, got, strict=True):
            exponent = 0 if quotient >= 1 else -1 if quotient >= Fraction(1, 2) else -2
            exponent += quotient >= 2
            unit = Fraction(2) ** (exponent - type_.precision + 1)
            assert is_allowed == (abs(Fraction(float(number)) - quotient) <= Fraction(5, 2) * unit)


def test_an_interval_of_the_specification_is_not_a_policy() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP)
    component = COMPONENT_TYPES["f32"]
    source = builder.array("source", Pointee(component), 2, BUFFER, "input")
    target = builder.array("target", Pointee(component), 1, BUFFER, "output")
    zero, one = builder.literal(0), builder.literal(1)
    left, right = (
        builder.load(f"m{i}", matrix_type(component, 1, 1), source, first, one, Layout.ROW_MAJOR) for i, first in enumerate((zero, one))
    )
    builder.store(builder.elementwise("q", "divide", left, right), target, zero, one, Layout.ROW_MAJOR)
    expected = evaluate(builder.build(), Subcase("one", {"source": as_bytes(as_bits([[1.0, 3.0]], component))}))
    assert expected.placed[0].expected.KIND == "interval"
    assert expected.notes == ()


@pytest.mark.parametrize(
    ("component", "operator", "left", "right", "rule"),
    [
        ("s32", "signed_divide", 1, 0, Rule.DIVISION_BY_ZERO),
        ("u32", "unsigned_divide", 1, 0, Rule.DIVISION_BY_ZERO),
        ("s16", "signed_divide", -32768, -1, Rule.DIVISION_OVERFLOW),
        ("u16", "signed_divide", 0x8000, 0xFFFF, Rule.DIVISION_OVERFLOW),
        ("s32", "unsigned_divide", 4, 2, Rule.SIGNEDNESS),
        ("s32", "divide", 4, 2, "KHR-ARI-03"),
        ("f32", "signed_divide", 4, 2, "KHR-ARI-03"),
        ("f16", "add", 65504.0, 65504.0, Rule.OVERFLOW),
        ("f32", "add", "0x7f800000", 1.0, Rule.NOT_FINITE),
        ("f16", "divide", 1.0, 2.0**15, Rule.DIVISOR_RANGE),
        ("f16", "divide", 2.0**-14, 3.0, Rule.DENORMAL),
        ("f16", "divide", 60000.0, 0.5, Rule.OVERFLOW),
    ],
)
def test_undefined_or_unpromised_results_are_refused(component: str, operator: str, left: float, right: float, rule: str) -> None:
    with breaks(rule):
        combine(operator, matrix(component, left), matrix(component, right))


def test_a_result_that_rounds_is_not_an_operand_unless_contraction_is_forbidden() -> None:
    x, y, z = (matrix("f16", value) for value in (1 + 2.0**-10, 1 + 2.0**-10, 1.0))
    product = combine("multiply", x, y)
    with breaks(Rule.CONTRACTION):
        combine("subtract", product, z)
    with breaks(Rule.CONTRACTION):
        negated(product)
    # A fused operation would give 2**-9 + 2**-20, correctly rounded.
    assert numbers(combine("subtract", product, z, no_contraction=True).expectation().expected) == {2.0**-9, 2.0**-9 + 2.0**-10}


def test_a_quotient_is_not_an_operand() -> None:
    quotient = combine("divide", matrix("f32", 1.0), matrix("f32", 3.0))
    with breaks(Rule.VALUE_RANGE):
        combine("add", quotient, matrix("f32", 1.0), no_contraction=True)
