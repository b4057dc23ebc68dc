"""Results proved exact are the same under every order, grouping and direction of rounding; other results are in the envelope."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cts.reference.float_products import multiply_add
from cts.reference.values import MatrixValue
from cts.verdict.expected import Exact, Interval
from generators.errors import GeneratorError, Rule
from generators.numerics.exactness import NO_TERM, accumulation_precision, exactness, product_quanta, quantum_exponents
from generators.numerics.formats import encode
from generators.numerics.rounding import nearest, toward_zero
from generators.numerics.summation import exact_sum
from generators.types import COMPONENT_TYPES, ComponentType
from tests.broken_rules import breaks

Types = tuple[ComponentType, ComponentType, ComponentType, ComponentType]


def is_exact(a: np.ndarray, b: np.ndarray, c: np.ndarray, types: Types) -> bool:
    """Return whether every element of ``a`` x ``b`` + ``c`` is proved exact."""
    return bool(exactness(a, b, c, types).exact.all())


def types(*names: str) -> Types:
    a, b, c, result = (COMPONENT_TYPES[name] for name in names)
    return a, b, c, result


ROWS = [
    types("f16", "f16", "f32", "f32"),
    types("f16", "f16", "f16", "f16"),
    types("bf16", "bf16", "f32", "f32"),
    types("bf16", "bf16", "bf16", "bf16"),
    types("e4m3", "e4m3", "f32", "f32"),
    types("e5m2", "e4m3", "f16", "f16"),
    types("f32", "f32", "f32", "f32"),
]


def to_precision(value: float, bits: int, truncating: bool) -> float:
    """Round a float64 to ``bits`` significand bits, without limits of the exponent."""
    fraction, exponent = np.frexp(value)
    scaled = np.ldexp(fraction, bits)
    return float(np.ldexp(np.trunc(scaled) if truncating else np.rint(scaled), exponent - bits))


def sequential(terms: list[float], bits: int, truncating: bool) -> float:
    total = 0.0
    for term in terms:
        total = to_precision(total + term, bits, truncating)
    return total


def pairwise(terms: list[float], bits: int, truncating: bool) -> float:
    while len(terms) > 1:
        pairs = [to_precision(sum(terms[i : i + 2]), bits, truncating) for i in range(0, len(terms), 2)]
        terms = pairs
    return terms[0]


def values(component: ComponentType, spread: int) -> st.SearchStrategy[float]:
    limit = 1 << min(component.precision, 12)
    return st.tuples(st.integers(-limit + 1, limit - 1), st.integers(-spread, spread)).map(
        lambda pair: float(nearest(component, np.array(np.ldexp(float(pair[0]), pair[1] - 3))))
    )


@st.composite
def problems(draw: st.DrawFn, spread: int) -> tuple[Types, np.ndarray, np.ndarray, np.ndarray]:
    row = draw(st.sampled_from(ROWS))
    m, n, k = draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(st.integers(1, 8))

    def matrix(component: ComponentType, rows: int, columns: int) -> np.ndarray:
        drawn = draw(st.lists(values(component, spread), min_size=rows * columns, max_size=rows * columns))
        return np.array(drawn).reshape(1, rows, columns)

    a, b, c = matrix(row[0], m, k), matrix(row[1], k, n), matrix(row[2], m, n)
    assume(all(np.isfinite(x).all() for x in (a, b, c)))
    return row, a, b, c


def element_terms(a: np.ndarray, b: np.ndarray, c: np.ndarray, row: int, column: int) -> list[float]:
    return [*(a[0, row] * b[0, :, column]).tolist(), float(c[0, row, column])]


@given(problems(spread=2), st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_every_order_gives_the_value_that_is_proved_exact(problem: tuple[Types, np.ndarray, np.ndarray, np.ndarray], random) -> None:  # type: ignore[no-untyped-def]
    row, a, b, c = problem
    proof = exactness(a, b, c, row)
    bits = accumulation_precision(*row)
    for i, j in np.argwhere(proof.exact[0]):
        terms = element_terms(a, b, c, i, j)
        true = float(sum(map(Fraction, terms)))
        for truncating in (False, True):
            for _ in range(3):
                random.shuffle(terms)
                assert sequential(terms, bits, truncating) == true
                assert pairwise(terms, bits, truncating) == true


def test_a_sum_one_bit_too_wide_is_not_proved_and_one_at_the_limit_is() -> None:
    row = types("f16", "f16", "f32", "f32")
    a, b = np.array([[[2048.0]]]), np.array([[[4096.0]]])
    assert is_exact(a, b, np.array([[[1.0]]]), row)
    assert not is_exact(2 * a, b, np.array([[[1.0]]]), row)
    assert exactness(a, b, np.array([[[1.0]]]), row).margin_bits == pytest.approx(1.0, abs=1e-6)


def test_the_margin_counts_every_term_although_they_cancel() -> None:
    row = types("f16", "f16", "f16", "f16")
    a, b = np.array([[[1.0, 1.0]]]), np.array([[[1024.0], [-1024.0]]])
    assert not is_exact(a, b, np.array([[[1.0]]]), row)
    assert is_exact(a, b / 2, np.array([[[1.0]]]), row)


def test_denormals_are_not_proved() -> None:
    row = types("f16", "f16", "f32", "f32")
    one = np.array([[[1.0]]])
    assert not is_exact(one * 2.0**-15, one, one * 0, row)
    assert is_exact(one * 2.0**-14, one, one * 0, row)


def test_a_partial_sum_may_not_fall_into_the_denormals() -> None:
    """1.5 * 2**-14 - 2**-14 is 2**-15, which is only a denormal in f16; terms of one sign cannot cancel."""
    row = types("f16", "f16", "f16", "f16")
    a, c = np.array([[[1.5 * 2.0**-14]]]), np.array([[[2.0**-14]]])
    one = np.array([[[1.0]]])
    assert is_exact(a, one, c, row)
    assert not is_exact(a, one, -c, row)


def test_a_single_product_needs_no_more_than_its_own_bits() -> None:
    row = types("f16", "f16", "f16", "f16")
    values = np.array([[[1 + 2.0**-10, 1000.0], [0.0, 2.0**-14]]])
    assert is_exact(np.eye(2)[None], values, np.zeros((1, 2, 2)), row)


def test_nan_is_refused() -> None:
    with breaks(Rule.NOT_FINITE):
        exactness(np.array([[[np.nan]]]), np.ones((1, 1, 1)), np.zeros((1, 1, 1)), ROWS[0])


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_quantum_is_the_last_set_bit(value: float) -> None:
    quantum = int(quantum_exponents(np.array([value]))[0])
    if value == 0:
        assert quantum == NO_TERM
    else:
        units = Fraction(value) / Fraction(2) ** quantum
        assert units.denominator == 1
        assert units.numerator % 2 == 1


@given(problems(spread=3))
def test_quanta_of_products_are_those_of_single_products(problem: tuple[Types, np.ndarray, np.ndarray, np.ndarray]) -> None:
    _, a, b, _ = problem
    quanta = product_quanta(a, b)
    for row, column in np.ndindex(quanta.shape[1:]):
        products = a[0, row] * b[0, :, column]
        assert quanta[0, row, column] == quantum_exponents(products).min()


@given(problems(spread=20), st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_the_envelope_holds_sums_of_any_order_and_direction(problem: tuple[Types, np.ndarray, np.ndarray, np.ndarray], random) -> None:  # type: ignore[no-untyped-def]
    row, a, b, c = problem
    result = row[3]
    try:
        value = multiply_add(*(MatrixValue(t, encode(t, x)) for t, x in zip(row, (a, b, c), strict=False)), result)
    except GeneratorError:
        assume(False)
    allowed = value.expectation().expected
    bits = accumulation_precision(*row)
    for i, j in np.ndindex(c.shape[1:]):
        terms = element_terms(a, b, c, i, j)
        true = sum(map(Fraction, terms))
        for truncating in (False, True):
            random.shuffle(terms)
            for total in (sequential(terms, bits, truncating), pairwise(terms, bits, truncating), float(true)):
                rounded = toward_zero if truncating else nearest
                stored = float(rounded(result, np.array(total)))
                if isinstance(allowed, Exact):
                    assert encode(result, np.array([stored]))[0] == allowed.bits[0, i, j]
                else:
                    assert isinstance(allowed, Interval)
                    assert allowed.low[0, i, j] <= stored <= allowed.high[0, i, j]


def wide(draw_count: int) -> st.SearchStrategy[list[float]]:
    number = st.tuples(st.integers(-(2**53) + 1, 2**53 - 1), st.integers(-200, 200)).map(lambda p: float(np.ldexp(float(p[0]), p[1])))
    return st.lists(st.one_of(number, st.just(0.0)), min_size=draw_count, max_size=draw_count)


@given(wide(6), wide(6), wide(4))
def test_exact_sums_are_rounded_once(a: list[float], b: list[float], c: list[float]) -> None:
    left, right, addend = np.array(a).reshape(1, 2, 3), np.array(b).reshape(1, 3, 2), np.array(c).reshape(1, 2, 2)
    proof = exactness(left, right, addend, types("f64", "f64", "f64", "f64"))
    center, lost = exact_sum(left, right, addend, proof)
    for i, j in np.ndindex(2, 2):
        true = sum(Fraction(float(left[0, i, k])) * Fraction(float(right[0, k, j])) for k in range(3)) + Fraction(float(addend[0, i, j]))
        assert abs(true - Fraction(float(center[0, i, j]))) <= Fraction(float(lost[0, i, j]))
        assert (lost[0, i, j] == 0) == (true == Fraction(float(center[0, i, j])))


def test_operands_of_very_different_size_are_still_exact() -> None:
    left, right = np.array([[[2.0**600, 2.0**-600]]]), np.array([[[2.0**-400], [1.0]]])
    center, lost = exact_sum(
        left, right, np.array([[[-(2.0**200)]]]), exactness(left, right, np.array([[[-(2.0**200)]]]), types("f64", "f64", "f64", "f64"))
    )
    assert center.item() == 2.0**-600
    assert lost.item() == 0


@given(st.sampled_from(["f16", "f32", "bf16", "e4m3", "e5m2"]), st.floats(-1e5, 1e5, allow_subnormal=False))
def test_rounding_is_to_the_nearest_and_to_zero(name: str, value: float) -> None:
    component = COMPONENT_TYPES[name]
    top = (
        float(np.array(0x7E if name == "e4m3" else 0x7B if name == "e5m2" else 0, np.uint8).view(component.dtype))
        if component.bits == 8
        else 6e4
    )
    assume(abs(value) < top)
    near, cut = float(nearest(component, np.array(value))), float(toward_zero(component, np.array(value)))
    for rounded in (near, cut):
        assert float(np.array(rounded).astype(component.dtype)) == rounded
    assert abs(cut) <= abs(value)
    assert abs(near - value) <= abs(cut - value)
