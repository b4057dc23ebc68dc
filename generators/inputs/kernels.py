"""Data of whole kernels: whole numbers whose sums are exact in any order, and which use the bits that the accumulation has."""

from __future__ import annotations

import numpy as np

from generators.numerics.exactness import accumulation_precision
from generators.property_rows import PropertyRow
from generators.types import ComponentType


def budget(row: PropertyRow) -> int:
    """What the magnitudes of all terms of a sum of ``row`` may add up to: every partial sum is then a whole number that the narrowest
    accumulation holds. Of integers, which wrap, all that 32 bits hold."""
    return (1 << accumulation_precision(row.a, row.b, row.c, row.result)) - 1 if row.result.is_float else 1 << 32


def signed_whole(shape: tuple[int, ...], limit: int, component: ComponentType, rng: np.random.Generator) -> np.ndarray:
    """Whole numbers without 0 of magnitudes up to ``limit`` that the type holds; of unsigned types no negative ones."""
    most = min(limit, 1 << component.precision) if component.is_float else min(limit, (1 << component.precision) - 1)
    magnitudes = rng.integers(1, max(1, most), shape, endpoint=True)
    signed = component.is_float or component.is_signed
    return np.asarray(magnitudes * rng.choice(np.array([-1, 1]), shape) if signed else magnitudes).astype(np.int64)


def factors(row: PropertyRow, sizes: tuple[int, int, int], most: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A (M, K) and B (K, N), int64: the magnitudes of the products of each element of A x B add up to at most ``most``. Where a dense A
    would have ones alone, it has as many numbers in each row as the budget pays for, at places that differ from row to row."""
    m, n, k = sizes
    if not row.result.is_float:
        return any_whole((m, k), row.a, rng), any_whole((k, n), row.b, rng)
    each = max(4, most // k)
    side = max(2, int(each**0.5))
    a, b = signed_whole((m, k), side, row.a, rng), signed_whole((k, n), each // side, row.b, rng)
    kept = max(1, most // int(np.abs(a).max() * np.abs(b).max()))
    if kept < k:
        order = rng.random((m, k)).argsort(axis=-1).argsort(axis=-1)
        a = a * (order < kept)
    return a, b


def any_whole(shape: tuple[int, ...], component: ComponentType, rng: np.random.Generator) -> np.ndarray:
    """Any numbers of an integer type, int64."""
    info = np.iinfo(component.dtype)
    return rng.integers(int(info.min), int(info.max), shape, np.int64, endpoint=True)


def addends(shape: tuple[int, ...], component: ComponentType, most: int, rng: np.random.Generator) -> np.ndarray:
    """What is added to sums: of floats whole numbers near ``most``, of either sign; any integers. int64."""
    if not component.is_float:
        return any_whole(shape, component, rng)
    top = max(1, min(most, 1 << component.precision))
    return np.asarray((top - rng.integers(0, max(1, top // 8), shape)) * rng.choice(np.array([-1, 1]), shape)).astype(np.int64)
