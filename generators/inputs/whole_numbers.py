"""Whole numbers whose sums are exact in any order."""

from __future__ import annotations

import numpy as np

from generators.numerics.exactness import accumulation_precision, permitted_precision
from generators.property_rows import PropertyRow


def budget(row: PropertyRow) -> int:
    """Return the maximum sum of the magnitudes of all terms in a sum of a float ``row``. Every partial sum is then a whole number with no
    more bits than every implementation must keep, so one value is permitted."""
    return (1 << permitted_precision(row.a, row.b, row.c, row.result)) - 1


def full_budget(row: PropertyRow) -> int:
    """Return the same maximum for all bits of the narrowest plausible accumulation: sums need bits that an implementation may leave out."""
    return (1 << accumulation_precision(row.a, row.b, row.c, row.result)) - 1


def signs(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw -1 or 1 for each element, float64."""
    return np.array([-1.0, 1.0])[rng.integers(0, 2, shape)]


def any_signs(magnitudes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return numbers of these magnitudes with random signs."""
    return np.asarray(magnitudes * (2 * rng.integers(0, 2, magnitudes.shape) - 1))


def up_to(limit: int, shape: tuple[int, ...], rng: np.random.Generator, signed: bool = True) -> np.ndarray:
    """Draw numbers of magnitudes from 1 to ``limit``, int64."""
    magnitudes = rng.integers(1, max(1, limit), shape, endpoint=True)
    return any_signs(magnitudes, rng) if signed else magnitudes


def near(top: int, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw numbers of magnitudes near ``top`` and of either sign, int64: their sums need all bits of the accumulation."""
    return any_signs(top - rng.integers(0, max(1, top // 8), shape), rng)


def few(kept: int, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Choose ``kept`` elements of each line along the last axis, at places that differ from line to line; bool."""
    return np.asarray(rng.random(shape).argsort(axis=-1).argsort(axis=-1) < kept)


def odd_near(top: int, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw odd numbers of either sign, with magnitudes near but at most ``top``, int64: they need all bits of ``top``."""
    magnitudes = np.abs(near(top, shape, rng)) - 1 | 1
    return any_signs(np.minimum(magnitudes, max(1, top)), rng)


def wide_factors(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], most: int, limits: tuple[int, int], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw A (..., M, K) and B (..., K, N), int64, with some elements that need all bits of their types or of the sums.

    The magnitudes of the products of any row of A and any column of B add up to at most ``most``. Every second row of A and every second
    column of B has a single nonzero element, which is wide; the other lines have no zeros. Wide elements are multiplied by 1 or -1.

    Args:
        shapes: the shapes of A and B.
        most: as above; at least K.
        limits: the largest magnitudes that the types of A and B hold, with all smaller ones.
        rng: draws them.
    """
    shape_a, shape_b = shapes
    depth = shape_a[-1]
    even = np.arange(depth) % 2 == 0
    small = max(1, most // depth)
    a, b = (up_to(min(small, limit), shape, rng) for limit, shape in zip(limits, shapes, strict=True))
    a, b = np.where(even, a, np.sign(a)), np.where(even[:, None], np.sign(b), b)
    alone_a, alone_b = (_alone(parity, shape, rng) for parity, shape in ((0, shape_a), (1, (*shape_b[:-2], shape_b[-1], depth))))
    wide_a, wide_b = (odd_near(min(most, limit), shape, rng) for limit, shape in zip(limits, shapes, strict=True))
    a[..., 1::2, :] = np.where(alone_a, wide_a, 0)[..., 1::2, :]
    b[..., 1::2] = np.where(alone_b.swapaxes(-1, -2), wide_b, 0)[..., 1::2]
    return a, b


def _alone(parity: int, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Choose one element of each line along the last axis, among those with even (0) or odd (1) indices; bool."""
    depth = shape[-1]
    places = 2 * rng.integers(0, max(1, depth // 2), shape[:-1]) + parity
    return np.asarray(np.arange(depth) == places[..., None])
