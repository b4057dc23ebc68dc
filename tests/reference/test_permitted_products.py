"""The permitted results of a multiply-add: any order, grouping and rounding to the bits that must be kept, and nothing structural."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cts.reference.conversion import convert_value
from cts.reference.elementwise import combine, negated
from cts.reference.float_products import multiply_add
from cts.reference.values import MatrixValue, join, select
from cts.verdict.expected import Exact, Interval
from generators.errors import GeneratorError, Rule
from generators.numerics.exactness import factors_fit, permitted_precision
from generators.numerics.formats import encode
from generators.numerics.rounding import nearest, to_bits, toward_zero
from generators.program.conversion import Conversion
from generators.types import COMPONENT_TYPES
from tests.broken_rules import breaks

ROWS = [
    "f16.f16.f32.f32",
    "f16.f16.f16.f16",
    "bf16.bf16.f32.f32",
    "bf16.bf16.bf16.bf16",
    "f32.f32.f32.f32",
    "f64.f64.f64.f64",
    "e4m3.e4m3.f32.f32",
]


def types(row: str):
    return tuple(COMPONENT_TYPES[name] for name in row.split("."))


def matrices(row: str, *numbers: np.ndarray) -> list[MatrixValue]:
    return [MatrixValue(type_, encode(type_, number)) for type_, number in zip(types(row), numbers, strict=False)]


def product(row: str, a, b, c) -> MatrixValue:
    return multiply_add(*matrices(row, *(np.array(number, float)[None] for number in (a, b, c))), types(row)[3])


@pytest.mark.parametrize(
    ("row", "bits"),
    [
        ("f16.f16.f32.f32", 11),
        ("f64.f64.f64.f64", 11),
        ("bf16.bf16.f32.f32", 8),
        ("f16.f16.f32.bf16", 8),
        ("e4m3.e4m3.f32.f32", 11),
        ("e4m3.e4m3.e4m3.e4m3", 4),
    ],
)
def test_the_bits_that_must_be_kept(row, bits):
    assert permitted_precision(*types(row)) == bits


@settings(max_examples=150)
@given(
    row=st.sampled_from(ROWS),
    seed=st.integers(0, 1 << 32),
    k=st.integers(1, 12),
    rounding=st.sampled_from([np.rint, np.trunc, np.floor, np.ceil]),
    group=st.integers(1, 4),
    few=st.booleans(),
)
def test_sums_in_any_order_grouping_and_rounding_are_permitted(row, seed, k, rounding, group, few):
    rng = np.random.default_rng(seed)
    a_type, b_type, c_type, result = types(row)
    bits = permitted_precision(*types(row))
    spread = 2 if result.name in ("f16", "bf16") or a_type.bits == 8 else 6

    def drawn(shape, type_):
        return nearest(type_, np.ldexp(rng.uniform(-1, 1, shape), rng.integers(-spread, spread, shape)))

    a, b, c = drawn((2, k), a_type), drawn((k, 2), b_type), drawn((2, 2), c_type)
    if few:
        a = a * (rng.random(a.shape) < 0.3)
    try:
        permitted = product(row, a, b, c).expectation().permitted
    except GeneratorError:
        assume(False)

    def narrow(x):
        return to_bits(x, bits, rounding)

    for i, j in np.ndindex(2, 2):
        terms = [narrow(narrow(a[i, n]) * narrow(b[n, j])) for n in range(k) if a[i, n] and b[n, j]] + [narrow(c[i, j])]
        rng.shuffle(terms)
        groups = [terms[n : n + group] for n in range(0, len(terms), group)]
        total = np.float64(0.0)
        for one in groups:
            part = np.float64(0.0)
            for term in one:
                part = narrow(part + term)
            total = narrow(total + part)
        for store in (nearest, toward_zero):
            got = np.zeros((1, 2, 2))
            got[0, i, j] = store(result, np.array(total))
            assert permitted.contains(encode(result, got))[0, i, j]


def test_a_sum_that_is_exact_in_the_bits_that_must_be_kept_has_one_value():
    value = product("f16.f16.f32.f32", [[1000.0, 3.0]], [[1.0], [5.0]], [[31.0]])
    assert value.permitted is None
    assert isinstance(value.expectation().permitted, Exact)


def test_a_sum_that_needs_more_bits_is_expected_exactly_and_permitted_in_an_interval():
    value = product("f16.f16.f32.f32", [[1000.0, 3.0]], [[3.0], [5.0]], [[31.0]])
    expectation = value.expectation()
    assert isinstance(expectation.expected, Exact)
    assert isinstance(expectation.permitted, Interval)
    assert expectation.authority.quality == "F-KHR-26"
    with pytest.raises(AssertionError):
        assert expectation.permitted.contains(encode(COMPONENT_TYPES["f32"], np.array([[[46.0]]]))).all()


def test_factors_that_need_more_bits_are_a_matter_of_their_own_position():
    wide = 1.0 + 2.0**-12
    assert product("f32.f32.f32.f32", [[wide, 0.0]], [[1.0], [0.0]], [[0.0]]).authority.quality == "F-KHR-25"
    assert product("f32.f32.f32.f32", [[wide, 1.0]], [[1.0], [1.0]], [[0.0]]).authority.quality == "F-KHR-26"
    # A product with a factor of zero does not count.
    assert product("f32.f32.f32.f32", [[wide, 1.0]], [[0.0], [1.0]], [[0.0]]).permitted is None
    assert not factors_fit(np.array([[wide, 1.0]]), np.array([[1.0], [1.0]]), 11).any()


def test_no_term_of_equal_weight_may_be_lost_or_doubled():
    k = 16
    a, b, c = np.full((1, k), 2047.0), np.full((k, 1), 2047.0), np.full((1, 1), 2047.0**2)
    permitted = product("f16.f16.f32.f32", a, b, c).expectation().permitted
    single = np.float32
    exact = (a @ b + c).item()
    for got, fits in ((exact, True), (exact - 2047.0**2, False), (exact + 2047.0**2, False), (exact - 2 * 2047.0**2, False)):
        assert permitted.contains(np.array([[[single(got)]]]).view(np.uint32)).item() is fits


def test_a_chain_permits_what_each_of_its_steps_permits():
    row = "f16.f16.f32.f32"
    a, b = np.array([[[1000.0, 3.0]]]), np.array([[[3.0], [5.0]]])
    left, right, start = matrices(row, a, b, np.array([[[31.0]]]))
    first = multiply_add(left, right, start, types(row)[3])
    second = multiply_add(left, right, first, types(row)[3])
    one, two = first.expectation().permitted, second.expectation().permitted
    assert isinstance(one, Interval)
    assert isinstance(two, Interval)
    low = nearest(COMPONENT_TYPES["f32"], one.low + (one.high - one.low) * 0.01)
    again = multiply_add(left, right, matrices(row, a, b, low)[2], types(row)[3]).expectation().permitted
    assert two.low <= again.low
    assert (second.expectation().expected.bits == encode(COMPONENT_TYPES["f32"], np.array([[[6061.0]]]))).all()


def test_permitted_results_are_blamed_on_no_other_operation():
    value = product("f16.f16.f32.f32", [[1000.0, 3.0]], [[3.0], [5.0]], [[31.0]])
    for operation in (
        lambda: combine("add", value, value),
        lambda: negated(value),
        lambda: convert_value(value, COMPONENT_TYPES["f16"], Conversion.F_TO_F),
        lambda: value.numbers,
    ):
        with breaks(Rule.WIDER_PERMITTED):
            operation()
    assert select(value, np.array([0])).permitted is not None
    moved = join([(np.array([0]), value), (np.array([1]), matrices("f32", np.ones((1, 1, 1)))[0])])
    assert isinstance(moved.expectation().permitted, Interval)
    assert moved.expectation().permitted.low[1, 0, 0] == moved.expectation().permitted.high[1, 0, 0] == 1
