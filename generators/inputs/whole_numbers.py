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
