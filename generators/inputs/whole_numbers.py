"""Whole numbers whose sums are exact in any order."""

from __future__ import annotations

import numpy as np

from generators.numerics.exactness import accumulation_precision, permitted_precision
from generators.property_rows import PropertyRow


def budget(row: PropertyRow) -> int:
    """Return what the magnitudes of all terms of a sum of a float ``row`` may add up to: every partial sum is then a whole number of as
    many bits as every implementation must keep, and one value is permitted."""
    return (1 << permitted_precision(row.a, row.b, row.c, row.result)) - 1


def full_budget(row: PropertyRow) -> int:
    """Return the same for all bits of the narrowest plausible accumulation: sums need bits that an implementation may leave out."""
    return (1 << accumulation_precision(row.a, row.b, row.c, row.result)) - 1


def any_signs(magnitudes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return numbers of these magnitudes, each of either sign."""
    return np.asarray(magnitudes * rng.choice(np.array([-1, 1]), magnitudes.shape))


def up_to(limit: int, shape: tuple[int, ...], rng: np.random.Generator, signed: bool = True) -> np.ndarray:
    """Draw numbers of magnitudes from 1 to ``limit``, int64."""
    magnitudes = rng.integers(1, max(1, limit), shape, endpoint=True)
    return any_signs(magnitudes, rng) if signed else magnitudes


def near(top: int, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw numbers of magnitudes near ``top`` and of either sign, int64: sums with them need all bits of their accumulation."""
    return any_signs(top - rng.integers(0, max(1, top // 8), shape), rng)


def few(kept: int, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Choose ``kept`` elements of each line along the last axis, at places that differ from line to line; bool."""
    return np.asarray(rng.random(shape).argsort(axis=-1).argsort(axis=-1) < kept)


def odd_near(top: int, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw odd numbers of magnitudes near ``top``, at most it, and of either sign, int64: they need all bits that ``top`` has."""
    magnitudes = np.abs(near(top, shape, rng)) - 1 | 1
    return any_signs(np.minimum(magnitudes, max(1, top)), rng)


def wide_factors(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], most: int, limits: tuple[int, int], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw A (..., M, K) and B (..., K, N), int64, of which some elements need all bits that their types or the sums have.

    The magnitudes of the products of any row of A and any column of B add up to at most ``most``. Every second row of A, and every second
    column of B, has one element alone, which is wide; the other lines have none that is 0. What the wide ones meet is 1 or -1.

    Args:
        shapes: of A and B.
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
    """Choose an element of each line along the last axis, of those with even (0) or odd (1) numbers; bool."""
    depth = shape[-1]
    places = 2 * rng.integers(0, max(1, depth // 2), shape[:-1]) + parity
    return np.asarray(np.arange(depth) == places[..., None])
