"""Float operands of a chain of multiply-adds, for exact comparison and for the envelope.

Exact data are integers times a power of two: every product and every c is a multiple of one quantum q, and the sum of all absolute values
stays below 2**p q, where p is the narrowest plausible accumulation in bits. Then every partial sum in every order is representable, and
every implementation with at least p bits returns the exact value (facts.md C31). The results use the top bits of that budget and odd low
bits, so a sum kept in a narrower type is noticed. By default, p is the number of bits that every implementation must keep (F-KHR-26);
``full`` data need all bits of C and Result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from generators.inputs.whole_numbers import budget, few, full_budget, near, odd_near, up_to
from generators.numerics.exactness import PERMITTED_PRECISION_OF_BFLOAT16, accumulation_precision, permitted_precision
from generators.numerics.rounding import to_bits
from generators.property_rows import PropertyRow
from generators.types import COMPONENT_TYPES, ComponentType


@dataclass(frozen=True)
class Operands:
    """Values of a chain, of their dtypes: ``a`` (instances, steps, M, K), ``b`` (instances, steps, K, N), ``c`` (instances, M, N)."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray


@dataclass(frozen=True)
class Chain:
    """A chain of multiply-adds: ``steps`` products, each with its own operands and added ``repeats`` times; both numbers are at least 1."""

    row: PropertyRow
    instances: int
    steps: int
    repeats: int = 1

    @property
    def terms(self) -> int:
        """Number of products in one element of the result."""
        return self.row.k * self.steps * self.repeats

    @property
    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """The shapes of a, b and c in Operands."""
        row = self.row
        return (
            (self.instances, self.steps, row.m, row.k),
            (self.instances, self.steps, row.k, row.n),
            (self.instances, row.m, row.n),
        )


def _factors(most: int, a: ComponentType, b: ComponentType) -> tuple[int, int]:
    """Return the largest magnitudes of a and b, whole numbers that their types hold exactly, whose product is at most ``most``."""
    limit_a, limit_b = 1 << a.precision, 1 << b.precision
    first = max(1, min(limit_a, int(most**0.5)))
    second = max(1, min(limit_b, most // first))
    return max(1, min(limit_a, most // second)), second


def _scaled(values: np.ndarray, exponent: int, component: ComponentType) -> np.ndarray:
    return np.ldexp(values.astype(np.float64), exponent).astype(component.dtype)


def _integers(chain: Chain, rng: np.random.Generator, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw a and b whose products' absolute values sum to at most ``most`` for every element."""
    shape_a, shape_b, _ = chain.shapes
    per_term = most // chain.terms
    limit_a, limit_b = _factors(max(per_term, 4), chain.row.a, chain.row.b)
    a, b = up_to(limit_a, shape_a, rng), up_to(limit_b, shape_b, rng)
    if per_term < 4:
        # A dense matrix would have only ones: keep as many terms as the budget permits, at places that differ from row to row.
        kept = max(1, most // (limit_a * limit_b * chain.repeats))
        mask = few(kept, (chain.instances, chain.row.m, chain.steps * chain.row.k), rng)
        mask = mask.reshape(chain.instances, chain.row.m, chain.steps, chain.row.k)
        a = a * mask.transpose(0, 2, 1, 3)
    return a, b


def _with_wide_lines(
    chain: Chain, rng: np.random.Generator, factors: tuple[np.ndarray, np.ndarray], most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return A and B with some rows of A and columns of B that have a single element: an odd number near ``most``, which rounding to fewer
    bits changes. It is multiplied by 1 or -1."""
    row = chain.row
    if row.k < 2:
        return factors
    a, b = factors
    at_a, at_b = rng.permutation(row.k)[:2]
    step = int(rng.integers(chain.steps))
    a[:, step, :, at_b], b[:, step, at_a] = np.sign(a[:, step, :, at_b]), np.sign(b[:, step, at_a])
    rows, columns = (slice(period // 2, None, period) for period in (min(4, row.m), min(4, row.n)))
    if row.m > 1:
        lone = odd_near(min(most, 1 << row.a.precision), a[:, step, rows, at_a].shape, rng)
        a[:, :, rows] = 0
        a[:, step, rows, at_a] = lone
    if row.n > 1:
        lone = odd_near(min(most, 1 << row.b.precision), b[:, step, at_b, columns].shape, rng)
        b[..., columns] = 0
        b[:, step, at_b, columns] = lone
    return a, b


def exact(chain: Chain, rng: np.random.Generator, exponents: tuple[int, int] = (0, 0), full: bool = False) -> Operands:
    """Draw operands whose results use nearly the whole width of the accumulation, with odd low bits; a and b are scaled by powers of two.

    ``full``: for all bits of C and Result, otherwise for the bits that must be kept; then some factors also need all of these bits.
    """
    row = chain.row
    most = full_budget(row) if full else budget(row)
    wide = most == budget(row) and most < 1 << min(row.a.precision, row.b.precision)
    largest_c = min(most // (4 if wide else 2), 1 << row.c.precision)
    a, b = _integers(chain, rng, most - largest_c)
    if wide:
        a, b = _with_wide_lines(chain, rng, (a, b), (most - largest_c) // chain.repeats)
    c = near(largest_c, chain.shapes[2], rng)
    return _operands(row, (a, b, c), (exponents[0] + _exponent(most), exponents[1] + _exponent(most)))


def cancelling_exact(chain: Chain, rng: np.random.Generator, full: bool = False) -> Operands:
    """Draw operands with c as the negated sum of the products plus a small odd rest: if a sum drops low bits on the way, the whole result
    changes.

    ``full``: as for ``exact``.
    """
    row = chain.row
    most = full_budget(row) if full else budget(row)
    a, b = _integers(chain, rng, max(1, min(most // 2 - 8, (1 << row.c.precision) - 8)))
    total = chain.repeats * np.einsum("ismk,iskn->imn", a, b)
    c = -total + 2 * rng.integers(-3, 3, total.shape) + 1
    return _operands(row, (a, b, c), (_exponent(most), _exponent(most)))


def _exponent(most: int) -> int:
    """Return the power of two by which A and B are each scaled if the magnitudes of all terms add up to ``most``: a 24-bit sum that is kept
    in f16, which is permitted (F-KHR-26), must neither overflow nor be denormal."""
    return -5 if most.bit_length() == COMPONENT_TYPES["f32"].precision else 0


def _operands(row: PropertyRow, numbers: tuple[np.ndarray, np.ndarray, np.ndarray], exponents: tuple[int, int]) -> Operands:
    a, b, c = numbers
    return Operands(_scaled(a, exponents[0], row.a), _scaled(b, exponents[1], row.b), _scaled(c, sum(exponents), row.c))


def _normal_values(component: ComponentType, count: int, rng: np.random.Generator, exponent_range: tuple[int, int]) -> np.ndarray:
    """Draw finite values of both signs with full significands and binary exponents in ``exponent_range`` (inclusive); float64."""
    significand = rng.integers(1 << (component.precision - 1), 1 << component.precision, count).astype(np.float64)
    exponent = rng.integers(exponent_range[0], exponent_range[1], count, endpoint=True) - (component.precision - 1)
    return np.asarray(np.ldexp(significand, exponent) * rng.choice(np.array([-1.0, 1.0]), count))


def _reachable(row: PropertyRow, side: ComponentType) -> tuple[int, int]:
    """Return the binary exponents that are normal both in the type of ``side`` and in the result's type."""
    widest = {"e4m3": (-6, 7), "e5m2": (-14, 14), "f16": (-13, 14)}
    low_side, high_side = widest.get(side.name, (-20, 20))
    low_result, high_result = widest.get(row.result.name, (-20, 20))
    low_c, high_c = widest.get(row.c.name, (-20, 20))
    return max(low_side, low_result, low_c), min(high_side, high_result, high_c)


def identity(chain: Chain, rng: np.random.Generator, which: str, full: bool = False) -> Operands:
    """Draw operands, one of which has a single 1 (or, permuted, plus or minus 1) in each row or column, so the other operand appears in the
    result.

    ``which``: ``"a"`` for A an identity matrix and B distinct values, ``"b"`` the reverse, ``"permutation"`` for A a signed permutation
    matrix. c is zero. A result is a single product: exact in any accumulation that holds the type. ``full``: with all bits of the type that
    C and Result have, otherwise with the bits that must be kept.
    """
    row = chain.row
    shape_a, shape_b, shape_c = chain.shapes
    other, shape_one, shape_other = (row.b, shape_a, shape_b) if which != "b" else (row.a, shape_b, shape_a)
    ones = np.zeros(shape_one)
    if which == "b":
        ones[..., np.arange(row.n) % row.k, np.arange(row.n)] = 1
    elif which == "a":
        ones[..., np.arange(row.m), np.arange(row.m) % row.k] = 1
    else:
        order = rng.permutation(max(row.m, row.k))[: row.m] % row.k
        ones[..., np.arange(row.m), order] = rng.choice(np.array([-1.0, 1.0]), row.m)
    values = _normal_values(other, math.prod(shape_other), rng, _reachable(row, other)).reshape(shape_other)
    kept = accumulation_precision if full else permitted_precision
    precision = min(other.precision, row.result.precision, kept(row.a, row.b, row.c, row.result))
    if precision < other.precision:
        values = to_bits(values, precision, np.trunc)
    a, b = (ones, values) if which != "b" else (values, ones)
    return Operands(a.astype(row.a.dtype), b.astype(row.b.dtype), np.zeros(shape_c).astype(row.c.dtype))


def _keeps_few_bits(row: PropertyRow) -> bool:
    """Return whether a multiply-add of the row must keep only 8 bits, as for bf16."""
    return permitted_precision(row.a, row.b, row.c, row.result) == PERMITTED_PRECISION_OF_BFLOAT16


_FEW_TERMS = 3
"""Maximum number of products in a sum if each of them must affect a result of 8 bits."""


def _few_equal(chain: Chain, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw a, b and c, float64, with few products in a sum and all its terms within a factor of 3: if 8 bits are permitted, the error bound
    of many terms is larger than one of them. c has low bits that make the sums round."""
    row = chain.row
    shape_a, shape_b, shape_c = chain.shapes
    a, b, c = (
        _upper_values(component, shape, rng) for component, shape in zip((row.a, row.b, row.c), (shape_a, shape_b, shape_c), strict=True)
    )
    mask = few(max(1, _FEW_TERMS // chain.repeats), (chain.instances, row.m, chain.steps * row.k), rng)
    mask = mask.reshape(chain.instances, row.m, chain.steps, row.k).transpose(0, 2, 1, 3)
    return a * mask, b, c


def _upper_values(component: ComponentType, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw full significands from 1.5 to 2, of both signs; float64."""
    half = 1 << (component.precision - 1)
    significand = half + half // 2 + rng.integers(0, half // 2, shape)
    return np.asarray(significand / half * rng.choice(np.array([-1.0, 1.0]), shape))


def general(chain: Chain, rng: np.random.Generator) -> Operands:
    """Draw values whose sums round, for the envelope: values of several binary exponents, or a few of one exponent if only 8 bits must be
    kept. No partial sum overflows."""
    row = chain.row
    if _keeps_few_bits(row):
        few_a, few_b, few_c = _few_equal(chain, rng)
        return Operands(few_a.astype(row.a.dtype), few_b.astype(row.b.dtype), few_c.astype(row.c.dtype))
    shape_a, shape_b, shape_c = chain.shapes
    span = 2 if row.result.bits == 8 else 4
    low = -2 if row.result.bits <= 16 else -4
    draw_a = _normal_values(row.a, math.prod(shape_a), rng, (low, low + span)).reshape(shape_a)
    draw_b = _normal_values(row.b, math.prod(shape_b), rng, (low, low + span)).reshape(shape_b)
    draw_c = _normal_values(row.c, math.prod(shape_c), rng, (low, low + span)).reshape(shape_c)
    return Operands(draw_a.astype(row.a.dtype), draw_b.astype(row.b.dtype), draw_c.astype(row.c.dtype))


def cancelling_general(chain: Chain, rng: np.random.Generator) -> Operands:
    """Draw operands like ``general``, with c near the negated sum: the bound is relative to the magnitudes, not to the small result. The
    sum of a few terms of one exponent fits in f32, so a small number is added to it.
    """
    drawn = general(chain, rng)
    a, b = drawn.a.astype(np.float64), drawn.b.astype(np.float64)
    products = np.zeros(drawn.c.shape)
    # Sum term by term: a library's matrix product rounds differently on other machines, and cases must have the same data everywhere.
    for step in range(a.shape[1]):
        for k in range(a.shape[-1]):
            products += a[:, step, :, k, None] * b[:, step, k, None, :]
    c = -chain.repeats * products
    if _keeps_few_bits(chain.row):
        c = c + drawn.c.astype(np.float64) / 16
    return Operands(drawn.a, drawn.b, c.astype(chain.row.c.dtype))
