import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators.inputs import products
from generators.inputs.products import Chain
from generators.numerics.exactness import accumulation_precision, exactness, factors_fit, permitted_precision, quantum_exponents
from generators.property_rows import parse_row

ROWS = [
    "16x16x16.f16.f16.f16.f16",
    "16x8x16.f16.f16.f32.f32",
    "8x16x16.bf16.bf16.bf16.bf16",
    "16x16x16.bf16.bf16.f32.f32",
    "16x16x16.e4m3.e5m2.f32.f32",
    "16x16x16.e5m2.e5m2.f16.f16",
    "8x8x4.f64.f64.f64.f64",
    "16x32x48.f16.f16.f32.f32",
    "16x16x16.f16.f16.f32.f16",
]


def joined(chain, drawn):
    """Return all steps and repeats as one product."""
    a = np.concatenate([drawn.a[:, s] for s in range(chain.steps)] * chain.repeats, axis=-1).astype(np.float64)
    b = np.concatenate([drawn.b[:, s] for s in range(chain.steps)] * chain.repeats, axis=-2).astype(np.float64)
    return a, b, drawn.c.astype(np.float64)


def proof(chain, drawn):
    row = chain.row
    return exactness(*joined(chain, drawn), (row.a, row.b, row.c, row.result))


def kept(chain, drawn):
    """Return which elements are exact in the bits that every implementation must keep."""
    row = chain.row
    types, operands = (row.a, row.b, row.c, row.result), joined(chain, drawn)
    precision = permitted_precision(*types)
    return exactness(*operands, types, precision=precision).exact & factors_fit(*operands[:2], precision)


chains = st.builds(
    Chain,
    row=st.sampled_from(ROWS).map(parse_row),
    instances=st.integers(1, 2),
    steps=st.integers(1, 3),
    repeats=st.integers(1, 3),
)


@settings(max_examples=60)
@given(chain=chains, seed=st.integers(0, 1 << 32), exponents=st.sampled_from([(0, 0), (-3, -1)]), full=st.booleans())
def test_exact_data_are_proved_for_every_element(chain, seed, exponents, full):
    drawn = products.exact(chain, np.random.default_rng(seed), exponents, full)
    assert proof(chain, drawn).exact.all()
    assert full or kept(chain, drawn).all()


@settings(max_examples=60)
@given(chain=chains, seed=st.integers(0, 1 << 32), full=st.booleans())
def test_cancelling_data_are_proved_and_end_near_zero(chain, seed, full):
    drawn = products.cancelling_exact(chain, np.random.default_rng(seed), full)
    a, b, c = joined(chain, drawn)
    assert proof(chain, drawn).exact.all()
    assert full or kept(chain, drawn).all()
    assert np.abs(a @ b + c).max() < 8


@pytest.mark.parametrize("text", ROWS)
@pytest.mark.parametrize("which", ["a", "b", "permutation"])
@pytest.mark.parametrize("full", [False, True])
def test_selected_values_are_proved_and_come_through(text, which, full):
    chain = Chain(parse_row(text), 2, 1)
    drawn = products.identity(chain, np.random.default_rng(3), which, full)
    a, b, c = joined(chain, drawn)
    assert proof(chain, drawn).exact.all()
    assert full or kept(chain, drawn).all()
    assert (np.count_nonzero(a[0] if which != "b" else b[0].T, axis=-1) == 1).all()
    assert np.isin(np.abs(a @ b + c), np.abs(b if which != "b" else a)).all()


@pytest.mark.parametrize("text", ROWS)
def test_results_need_nearly_the_whole_width_of_the_accumulation(text):
    row = parse_row(text)
    chain = Chain(row, 1, 1)
    drawn = products.exact(chain, np.random.default_rng(5), full=True)
    a, b, c = joined(chain, drawn)
    result = np.ldexp(a @ b + c, -int(quantum_exponents(c).min()))
    precision = accumulation_precision(row.a, row.b, row.c, row.result)
    assert (np.abs(result) >= 2.0 ** (precision - 2)).mean() > 0.5
    assert (result % 2 == 1).mean() > 0.2


@pytest.mark.parametrize("text", ["16x16x16.f16.f16.f32.f32", "16x16x16.bf16.bf16.f32.f32"])
def test_a_sum_kept_in_a_narrower_type_gives_another_result(text):
    row = parse_row(text)
    drawn = products.exact(Chain(row, 1, 1), np.random.default_rng(7), full=True)
    a, b, c = (m[0].astype(np.float64) for m in (drawn.a[:, 0], drawn.b[:, 0], drawn.c))
    with np.errstate(over="ignore"):
        narrow = c.astype(row.a.dtype)
        for k in range(row.k):
            narrow = (narrow.astype(np.float64) + np.outer(a[:, k], b[k])).astype(row.a.dtype)
    assert (narrow.astype(np.float64) != a @ b + c).mean() > 0.9


@pytest.mark.parametrize("text", ROWS)
@pytest.mark.parametrize("draw", [products.general, products.cancelling_general])
def test_general_data_stay_finite_at_every_partial_sum(text, draw):
    row = parse_row(text)
    chain = Chain(row, 2, 3)
    drawn = draw(chain, np.random.default_rng(11))
    a, b, c = joined(chain, drawn)
    largest = {"f16": 65504.0, "bf16": 3e38, "f32": 3e38, "f64": 1e308}[row.result.name]
    assert (np.abs(a) @ np.abs(b) + np.abs(c)).max() < largest / 2
    assert np.isfinite(c).all()
