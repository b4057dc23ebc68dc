"""Inputs in their interpretation, products and functions of cooperative vectors, compared with exact rational arithmetic."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cts.reference.cooperative_vector_matmul import Operands, interpreted, limits, multiplied
from cts.reference.values import CERTAIN, MatrixValue, Range
from cts.reference.vector_functions import function_of
from generators.errors import Rule
from generators.types import COMPONENT_TYPES, INTERPRETATIONS, ComponentType
from tests.broken_rules import breaks

TYPES, READ = COMPONENT_TYPES, INTERPRETATIONS
INTEGERS = [name for name, component in TYPES.items() if not component.is_float]


def value(component: ComponentType, bits: list[int]) -> MatrixValue:
    return MatrixValue(component, np.array(bits, component.bits_dtype).reshape(1, 1, -1))


def number(component: ComponentType, bits: int) -> Fraction:
    """Return the number that bits represent; for integers, by the type's own signedness."""
    if component.is_float:
        return Fraction(float(np.array(bits, component.bits_dtype).view(component.dtype)[()]))
    return Fraction(bits - (1 << component.bits) if component.is_signed and bits >> (component.bits - 1) else bits)


def finite(name: str, largest: float = math.inf) -> st.SearchStrategy[int]:
    component = TYPES[name]

    def usable(bits: int) -> bool:
        found = float(np.array(bits, component.bits_dtype).view(component.dtype)[()])
        return math.isfinite(found) and abs(found) <= largest

    return st.integers(0, (1 << component.bits) - 1).filter(usable)


def read(result: MatrixValue) -> list[Fraction]:
    return [number(result.component, int(bits)) for bits in result.bits.ravel()]


# Inputs


@given(source=st.sampled_from(["f16", "f32"]), target=st.sampled_from(INTEGERS), data=st.data())
def test_floats_become_the_nearest_integer_ties_to_even_in_range(source: str, target: str, data: st.DataObject) -> None:
    near = st.floats(-300, 300, width=16).map(lambda x: int(np.array(x).astype(TYPES[source].dtype).view(TYPES[source].bits_dtype)))
    bits = data.draw(st.lists(st.one_of(finite(source), near), min_size=1, max_size=5))
    converted, other = interpreted(value(TYPES[source], bits), READ[target], len(bits), False)
    assert other is None
    low, high = limits(TYPES[target])
    # Python rounds fractions to even.
    assert read(converted) == [min(max(round(number(TYPES[source], one)), low), high) for one in bits]


@given(source=st.sampled_from(INTEGERS), target=st.sampled_from(INTEGERS), signed=st.booleans(), data=st.data())
def test_integers_saturate_by_the_flag_and_not_by_their_type(source: str, target: str, signed: bool, data: st.DataObject) -> None:
    component = TYPES[source]
    bits = data.draw(st.lists(st.integers(0, (1 << component.bits) - 1), min_size=1, max_size=5))
    converted, _ = interpreted(value(component, bits), READ[target], len(bits), signed)
    numbers = [one - (1 << component.bits) if signed and one >> (component.bits - 1) else one for one in bits]
    low, high = limits(TYPES[target])
    assert read(converted) == [min(max(one, low), high) for one in numbers]


@given(source=st.sampled_from(INTEGERS), target=st.sampled_from(["f32", "f64"]), signed=st.booleans(), data=st.data())
def test_integers_become_the_nearest_float(source: str, target: str, signed: bool, data: st.DataObject) -> None:
    component = TYPES[source]
    bits = data.draw(st.lists(st.integers(0, (1 << component.bits) - 1), min_size=1, max_size=5))
    converted, _ = interpreted(value(component, bits), READ[target], len(bits), signed)
    for one, found in zip(bits, converted.bits.ravel(), strict=True):
        exact = Fraction(one - (1 << component.bits) if signed and one >> (component.bits - 1) else one)
        distance = abs(number(converted.component, int(found)) - exact)
        for neighbour in (int(found) - 1, int(found) + 1):
            if neighbour < 0:
                continue
            other = abs(number(converted.component, neighbour) - exact)
            assert distance < other or (distance == other and found % 2 == 0)


@given(bits=st.lists(finite("f16", 448.0), min_size=1, max_size=6), target=st.sampled_from(["e4m3", "e5m2"]))
def test_an_8_bit_input_is_the_nearest_or_what_it_was(bits: list[int], target: str) -> None:
    source = TYPES["f16"]
    exact = [number(source, one) for one in bits]
    if any(0 < abs(one) < Fraction(1, 1 << 14) for one in exact):
        with breaks(Rule.DENORMAL):
            interpreted(value(source, bits), READ[target], len(bits), False)
        return
    component = TYPES[target]
    every = [number(component, one) for one in range(256) if math.isfinite(np.array(one, np.uint8).view(component.dtype).astype(float))]
    least = [min(abs(other - one) for other in every) for one in exact]
    nearest = [{other for other in every if abs(other - one) == distance} for one, distance in zip(exact, least, strict=True)]
    if any(len(ties) > 1 for ties in nearest):
        with breaks("F-CV-17"):
            interpreted(value(source, bits), READ[target], len(bits), False)
        return
    converted, wide = interpreted(value(source, bits), READ[target], len(bits), False)
    assert (wide is None) == (read(converted) == exact)
    assert [{one} for one in read(converted)] == nearest


@given(components=st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=4), data=st.data(), name=st.sampled_from(["s8", "u8"]))
def test_packed_elements_are_the_bytes_in_order(components: list[int], data: st.DataObject, name: str) -> None:
    columns = data.draw(st.integers(1, 4 * len(components)))
    converted, _ = interpreted(value(TYPES["u32"], components), READ[f"{name}packed"], columns, False)
    listed = b"".join(one.to_bytes(4, "little") for one in components)[:columns]
    assert read(converted) == [number(TYPES[name], one) for one in listed]
    with breaks("CV-MM-07"):
        interpreted(value(TYPES["u32"], components), READ[f"{name}packed"], 4 * len(components) + 1, False)


# Products


@given(matrix=st.sampled_from(["s8", "u8"]), vector=st.sampled_from(["s8", "u8"]), result=st.sampled_from(["s32", "u32"]), data=st.data())
def test_integer_products_are_exact_and_wrap(matrix: str, vector: str, result: str, data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 9))
    byte = st.integers(0, 255)
    m = data.draw(st.lists(st.lists(byte, min_size=columns, max_size=columns), min_size=rows, max_size=rows))
    x = data.draw(st.lists(byte, min_size=columns, max_size=columns))
    c = data.draw(st.lists(st.integers(0, 2**32 - 1), min_size=rows, max_size=rows))
    operands = Operands(
        MatrixValue(TYPES[matrix], np.array([m], np.uint8)),
        MatrixValue(TYPES[vector], np.array(x, np.uint8).reshape(1, -1, 1)),
        None,
        MatrixValue(TYPES[result], np.array(c, np.uint32).reshape(1, -1, 1)),
        TYPES[result],
    )
    found = multiplied(operands).bits[0, 0].tolist()
    numbers = [number(TYPES[vector], one) for one in x]
    for row, added, got in zip(m, c, found, strict=True):
        total = sum((number(TYPES[matrix], a) * b for a, b in zip(row, numbers, strict=True)), Fraction(0))
        assert got == (int(total) + added) % 2**32


# Functions


def exponential(x: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = 60
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp())


def logarithm(x: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = 60
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).ln())


def arctangent(x: Fraction) -> Fraction:
    """Return atan(x) by its series, after halving it repeatedly: atan(x) = 2 atan(x / (1 + sqrt(1 + x^2)))."""
    with localcontext() as context:
        context.prec = 60
        y, times = Decimal(x.numerator) / Decimal(x.denominator), 0
        while abs(y) > Decimal("0.01"):
            y, times = y / (1 + (1 + y * y).sqrt()), times + 1
        total, power = Decimal(0), y
        for n in range(40):
            total += power / (2 * n + 1) * (-1) ** n
            power *= y * y
        return Fraction(total) * 2**times


def step(component: ComponentType, x: Fraction) -> Fraction:
    """Return ulp(x): the distance between the numbers around ``x``, or the smaller of both distances if ``x`` is a number of the type."""
    smallest = Fraction(float(np.finfo(component.dtype).smallest_normal))
    binade = smallest
    while binade * 2 < abs(x):
        binade *= 2
    return binade / 2 ** (component.precision - 1)


def check(function: str, name: str, bits: int, exact: Fraction, bound: Fraction) -> None:
    """Check that the model's range equals the bound, except for 2**-40 of the result, and for zero if a denormal may be flushed."""
    component = TYPES[name]
    result = function_of(function, [value(component, [bits])])  # type: ignore[arg-type]
    assert isinstance(result.known, Range)
    low, high = (Fraction(float(end[0, 0, 0])) for end in (result.known.low, result.known.high))
    assert low <= exact - bound * (1 - Fraction(1, 2**30))
    assert high >= exact + bound * (1 - Fraction(1, 2**30))
    smallest = Fraction(float(np.finfo(component.dtype).smallest_normal))
    slack = abs(exact) * Fraction(1, 2**40) + bound * Fraction(1, 2**30)
    # A denormal argument may be flushed to zero, which has its own range.
    if abs(exact) - bound > smallest and not 0 < abs(number(component, bits)) < smallest:
        assert low >= exact - bound - slack
        assert high <= exact + bound + slack


NAMES = st.sampled_from(["f16", "f32"])


@given(name=NAMES, data=st.data())
def test_exp_is_within_its_ulps(name: str, data: st.DataObject) -> None:
    component = TYPES[name]
    bits = data.draw(finite(name, 9.0))
    x = number(component, bits)
    exact = exponential(x)
    check("Exp", name, bits, exact, ((1 if name == "f16" else 3) + 2 * abs(x)) * step(component, exact))


@given(name=NAMES, data=st.data())
def test_log_is_within_its_bounds(name: str, data: st.DataObject) -> None:
    component = TYPES[name]
    normal = int(np.array(np.finfo(component.dtype).smallest_normal, component.dtype).view(component.bits_dtype))
    infinity = int(np.array(np.inf, component.dtype).view(component.bits_dtype))
    bits = data.draw(st.integers(normal, infinity - 1))
    x = number(component, bits)
    exact = logarithm(x)
    inside = Fraction(1, 2) <= x <= 2
    check("Log", name, bits, exact, Fraction(1, 2 ** (7 if name == "f16" else 21)) if inside else 3 * step(component, exact))


@given(name=NAMES, data=st.data())
def test_atan_is_within_its_ulps(name: str, data: st.DataObject) -> None:
    component = TYPES[name]
    bits = data.draw(finite(name))
    x = number(component, bits)
    if 0 < abs(x) < Fraction(1, 2**100):
        return
    exact = arctangent(x)
    check("Atan", name, bits, exact, (5 if name == "f16" else 4096) * step(component, exact))


@given(name=NAMES, data=st.data())
def test_fma_has_what_a_rounded_product_and_a_rounded_sum_give(name: str, data: st.DataObject) -> None:
    component = TYPES[name]
    whole = st.integers(-(2**component.precision) + 1, 2**component.precision - 1)
    scale = st.integers(-8, 3)

    def drawn() -> Fraction:
        return Fraction(data.draw(whole)) * Fraction(2) ** (data.draw(scale) - component.precision)

    numbers = [drawn() for _ in range(3)]
    arguments = [value(component, [int(np.array(float(one), component.dtype).view(component.bits_dtype))]) for one in numbers]
    a, b, c = numbers
    smallest = Fraction(float(np.finfo(component.dtype).smallest_normal))
    if any(0 < abs(one) < smallest for one in (a, b, c, a * b, a * b + c)):
        return
    result = function_of("Fma", arguments)

    def around(exact: Fraction) -> tuple[Fraction, Fraction]:
        unit = step_below(component, exact)
        return Fraction(math.floor(exact / unit)) * unit, Fraction(math.ceil(exact / unit)) * unit

    exact = a * b + c
    sums = [end for product in around(a * b) for end in around(product + c)]
    distance = max(abs(exact - min(sums)), abs(exact - max(sums)))
    if any(0 < abs(one) < smallest for one in sums):
        return
    if distance == 0:
        assert result.known == CERTAIN
        assert number(component, int(result.bits[0, 0, 0])) == exact
        return
    assert isinstance(result.known, Range)
    low, high = (Fraction(float(end[0, 0, 0])) for end in (result.known.low, result.known.high))
    slack = abs(exact) * Fraction(1, 2**48)
    if exact - distance > smallest or exact + distance < -smallest:
        assert exact - distance - slack <= low <= exact - distance
        assert exact + distance <= high <= exact + distance + slack
    else:
        assert low <= exact - distance
        assert exact + distance <= high


def step_below(component: ComponentType, x: Fraction) -> Fraction:
    """Return the distance between numbers in the binade of ``x``; a power of two is the first number of its binade."""
    binade = Fraction(float(np.finfo(component.dtype).smallest_normal))
    while binade * 2 <= abs(x):
        binade *= 2
    return binade / 2 ** (component.precision - 1)


@given(name=NAMES, data=st.data())
def test_tanh_is_in_its_range_and_the_range_is_not_wide(name: str, data: st.DataObject) -> None:
    component = TYPES[name]
    bits = data.draw(finite(name, 9.0))
    x = number(component, bits)
    power = exponential(2 * x)
    exact = (power - 1) / (power + 1)
    result = function_of("Tanh", [value(component, [bits])])
    assert isinstance(result.known, Range)
    low, high = (Fraction(float(end[0, 0, 0])) for end in (result.known.low, result.known.high))
    assert low < exact < high or x == 0
    # Two exponentials, a sum, a difference and a quotient: at most about 3 (3 + 2|x|) + 8 steps of the numbers around 1.
    assert high - low <= 2 * (3 * (3 + 2 * abs(x)) + 8) * Fraction(1, 2 ** (component.precision - 1))
