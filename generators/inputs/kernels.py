"""Data of whole kernels: whole numbers whose sums are exact in any order and use the bits of the accumulator."""

from __future__ import annotations

import numpy as np

from generators.inputs import whole_numbers
from generators.inputs.whole_numbers import few, near, up_to, wide_factors
from generators.property_rows import PropertyRow
from generators.types import ComponentType

_DENSE = 8
"""Least part of the budget for each term of a sum, if all of its terms are to differ from zero."""


def budget(row: PropertyRow) -> int:
    """Return the maximum sum of the magnitudes of all terms in a sum of ``row``; for integers, which wrap, the largest 32-bit value."""
    return whole_numbers.budget(row) if row.result.is_float else 1 << 32


def signed_whole(shape: tuple[int, ...], limit: int, component: ComponentType, rng: np.random.Generator) -> np.ndarray:
    """Draw nonzero whole numbers of magnitudes up to ``limit`` that the type can hold; for unsigned types, no negative ones."""
    most = min(limit, 1 << component.precision) if component.is_float else min(limit, (1 << component.precision) - 1)
    return up_to(most, shape, rng, component.is_float or component.is_signed)


def factors(row: PropertyRow, sizes: tuple[int, int, int], most: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw A (M, K) and B (K, N), int64: the magnitudes of the products of each element of A x B add up to at most ``most``.

    If the budget is large enough, some factors need all of its bits, or all of their own. Otherwise, if a dense A would have only ones,
    each of its rows has as many numbers as the budget permits, at places that differ from row to row.
    """
    m, n, k = sizes
    if not row.result.is_float:
        return any_whole((m, k), row.a, rng), any_whole((k, n), row.b, rng)
    limits = 1 << row.a.precision, 1 << row.b.precision
    if most >= _DENSE * k:
        return wide_factors(((m, k), (k, n)), most, limits, rng)
    each = max(4, most // k)
    side = max(2, int(each**0.5))
    a, b = signed_whole((m, k), side, row.a, rng), signed_whole((k, n), each // side, row.b, rng)
    kept = max(1, most // int(np.abs(a).max() * np.abs(b).max()))
    if kept < k:
        a = a * few(kept, (m, k), rng)
    return a, b


def any_whole(shape: tuple[int, ...], component: ComponentType, rng: np.random.Generator) -> np.ndarray:
    """Draw any numbers of an integer type, int64."""
    return rng.integers(*component.limits, shape, np.int64, endpoint=True)


def addends(shape: tuple[int, ...], component: ComponentType, most: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the numbers that are added to sums, int64: for floats, whole numbers near ``most`` of either sign; otherwise any integers."""
    if not component.is_float:
        return any_whole(shape, component, rng)
    return near(max(1, min(most, 1 << component.precision)), shape, rng)
