"""Integer operands of a chain of multiply-adds: wrapping (facts.md C2) and saturating (C3)."""

from __future__ import annotations

import math

import numpy as np

from generators.inputs.products import Chain, Operands
from generators.property_rows import PropertyRow
from generators.types import ComponentType


def _random(component: ComponentType, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    low, high = component.limits
    return np.asarray(rng.integers(low, high, shape, component.dtype, endpoint=True))


def wrapping(chain: Chain, rng: np.random.Generator) -> Operands:
    """Draw operands with every bit random."""
    shape_a, shape_b, shape_c = chain.shapes
    row = chain.row
    return Operands(_random(row.a, shape_a, rng), _random(row.b, shape_b, rng), _random(row.c, shape_c, rng))


def edges(chain: Chain, rng: np.random.Generator) -> Operands:
    """Draw the ends of the types in a and b, and c so near the ends of its own type that most sums cross them."""
    shape_a, shape_b, shape_c = chain.shapes
    row = chain.row
    draws = []
    for component, shape in ((row.a, shape_a), (row.b, shape_b)):
        low, high = component.limits
        choices = np.array([low, low + 1, high, high - 1, high // 2, 1], dtype=object).astype(component.dtype)
        draws.append(rng.choice(choices, shape))
    low, high = row.c.limits
    near = rng.integers(0, 64, shape_c).astype(object)
    c = np.where(rng.integers(0, 2, shape_c).astype(bool), low + near, high - near).astype(row.c.dtype)
    return Operands(draws[0], draws[1], c)


def selecting(chain: Chain, rng: np.random.Generator) -> Operands:
    """Draw operands with A as a permutation matrix times one or (if signed) minus one, so the rows of B appear in the result; c is
    index-coded."""
    shape_a, shape_b, shape_c = chain.shapes
    row = chain.row
    a = np.zeros(shape_a, row.a.dtype)
    order = rng.permutation(max(row.m, row.k))[: row.m] % row.k
    signs = rng.choice(np.array([1, -1] if row.a.is_signed else [1]), row.m)
    a[..., np.arange(row.m), order] = signs.astype(row.a.dtype)
    c = (np.arange(math.prod(shape_c), dtype=np.uint64).reshape(shape_c) * np.uint64(2654435761)).astype(row.c.dtype)
    return Operands(a, _random(row.b, shape_b, rng), c)


def _bounded(component: ComponentType, limit: int, shape: tuple[int, ...], rng: np.random.Generator, sign: int) -> np.ndarray:
    """Draw non-zero values of at most ``limit`` in magnitude; all of one sign for ``sign`` 1 or -1, of both signs for 0."""
    low, high = component.limits
    magnitude = rng.integers(1, min(limit, high), shape, np.uint64, endpoint=True).astype(object)
    if sign == 0 and low < 0:
        magnitude = magnitude * rng.choice(np.array([1, -1]), shape)
    elif sign < 0:
        magnitude = -magnitude
    return magnitude.astype(component.dtype)


def _product_limits(row: PropertyRow) -> tuple[int, int]:
    """Return the magnitudes of a and b for which no sum of K products, in any order, leaves the result's range (KHR-MAD-10)."""
    _, highest = row.result.limits
    budget = highest // row.k
    first = min(row.a.limits[1], int(budget**0.5))
    return first, min(row.b.limits[1], budget // first)


def saturating(chain: Chain, rng: np.random.Generator, end: str) -> Operands:
    """Draw sums at the limits of the result, with A x B always in range (KHR-MAD-10).

    ``end`` ``"high"``: sums pass the highest value of the result, ``"low"``: the lowest (signed results only), in different places by
    different amounts, and some sums just stay inside; ``"inside"``: no sum passes a limit; ``"crossing"`` (signed sums only): no sum does,
    but sums are close to a limit and products have both signs, so C plus a part of A x B does. An implementation must add only the whole A
    x B to C (F-KHR-12).
    """
    shape_a, shape_b, shape_c = chain.shapes
    row = chain.row
    limit_a, limit_b = _product_limits(row)
    signed_sums = row.result.is_signed and (row.a.is_signed or row.b.is_signed)
    low_c, high_c = row.c.limits
    low_r, high_r = row.result.limits
    sign = {"high": 1, "low": -1}.get(end, 0 if signed_sums else 1)
    a = _bounded(row.a, limit_a, shape_a, rng, sign if row.a.is_signed else abs(sign))
    b = _bounded(row.b, limit_b, shape_b, rng, 1 if sign == 1 or (sign == -1 and row.a.is_signed) else sign)
    if end == "inside":
        room = max(1, high_c // 4)
        c = rng.integers(max(low_c, -room), room, shape_c, endpoint=True).astype(row.c.dtype)
        return Operands(a, b, c)
    # No sum of products leaves the result's range, so the widest integers of its signedness hold it.
    wide = np.int64 if row.result.is_signed else np.uint64
    total = (a.astype(wide) @ b.astype(wide)).sum(axis=1).astype(object)
    if end == "crossing":
        rest = rng.integers(0, 16, shape_c).astype(object)
        c = np.where(rng.integers(0, 2, shape_c).astype(bool), high_r - rest, low_r + rest) - total
    else:
        # From half of the sum beyond the limit to a quarter before it: most elements saturate, and some just stay inside.
        part = rng.integers(-2, 5, shape_c).astype(object)
        c = (low_r if end == "low" else high_r) - total + total * part // 4
    return Operands(a, b, np.clip(c, low_c, high_c).astype(row.c.dtype))
