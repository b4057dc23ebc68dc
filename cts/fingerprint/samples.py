"""Random operands of a row, by whole matrices, so that few operands give many results. The same seed gives the same operands."""

from __future__ import annotations

import zlib

import numpy as np

from cts.fingerprint.probes import Vectors
from generators.numerics.formats import encode, finite
from generators.property_rows import PropertyRow
from generators.types import ComponentType

RECIPE = 1
"""The number of this choice of probes and random operands. Whoever changes them counts it up: files keep only the seed of the latter."""

KINDS = ("normal", "spread", "cancelling", "sparse", "one_scale", "bits")
"""The kinds of data, which take turns by matrix."""


def samples(row: PropertyRow, seed: int, first: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return matrices ``first`` to ``first`` + ``count`` - 1: bits, (count, M, K), (count, K, N), (count, M, N)."""
    name = zlib.crc32(str(row).encode())
    drawn = [_matrices(row, KINDS[i % len(KINDS)], np.random.default_rng([seed, name, i])) for i in range(first, first + count)]
    a, b, c = (np.stack([one[which] for one in drawn]) for which in range(3))
    return a, b, c


def matrices_as_vectors(row: PropertyRow, seed: int, first: int, count: int) -> Vectors:
    """Return the operands of every result of the same matrices, row by row."""
    a, b, c = samples(row, seed, first, count)
    whole = (count, row.m, row.n, row.k)
    left, right = np.broadcast_to(a[:, :, None], whole), np.broadcast_to(b.swapaxes(1, 2)[:, None], whole)
    return Vectors((), left.reshape(-1, row.k), right.reshape(-1, row.k), c.reshape(-1))


def kind_of(row: PropertyRow, elements: np.ndarray) -> np.ndarray:
    """Return the number in ``KINDS`` of each element, by its index among all."""
    return np.asarray(elements // (row.m * row.n) % len(KINDS))


def sampled(row: PropertyRow, seed: int, elements: np.ndarray) -> Vectors:
    """Return the operands of some results, by ascending indices."""
    own, size = elements // (row.m * row.n), row.m * row.n
    parts = []
    for matrix in np.unique(own):
        a, b, c = (one[0] for one in samples(row, seed, int(matrix), 1))
        places = elements[own == matrix] % size
        parts.append((a[places // row.n], b[:, places % row.n].T, c.reshape(-1)[places]))
    return Vectors((), *(np.concatenate([part[i] for part in parts]) for i in range(3)))


def _matrices(row: PropertyRow, kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    shapes = ((row.a, (row.m, row.k)), (row.b, (row.k, row.n)), (row.c, (row.m, row.n)))
    if not row.result.is_float:
        a, b, c = (rng.integers(0, 1 << t.bits, shape, np.uint64).astype(t.bits_dtype) for t, shape in shapes)
        return a, b, c
    if kind == "bits":
        a, b, c = (_any_bits(t, shape, rng) for t, shape in shapes)
        return a, b, c
    numbers = [rng.standard_normal(shape) for _, shape in shapes]
    if kind in ("spread", "cancelling", "sparse"):
        # Up to 2**8 apart: with two factors, the products of f16 span more than any known alignment.
        numbers = [one * 2.0 ** rng.integers(-4 if t.bits == 8 else -8, 3, one.shape) for one, (t, _) in zip(numbers, shapes, strict=True)]
    if kind in ("cancelling", "sparse"):
        numbers[2] *= 2.0 ** rng.integers(-16, 2, numbers[2].shape)
    if kind == "sparse":
        numbers[0] *= rng.random(numbers[0].shape) < 0.3
    if kind == "one_scale":
        numbers = [np.copysign(1 + np.abs(one) % 1, one) for one in numbers]
    a, b, c = (encode(t, one) for one, (t, _) in zip(numbers, shapes, strict=True))
    if kind == "cancelling":
        order, half = rng.permutation(row.k), row.k // 2
        one, other = order[:half], order[half : 2 * half]
        sign = row.b.bits_dtype.type(1 << (row.b.bits - 1))
        # Neighbours in the last bit: what remains of the sum is far below its terms.
        a[:, other] = a[:, one] ^ rng.integers(0, 2, (row.m, half)).astype(row.a.bits_dtype)
        b[other] = b[one] ^ sign
    return a, b, c


def _any_bits(component: ComponentType, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    bits = rng.integers(0, 1 << component.bits, shape, np.uint64).astype(component.bits_dtype)
    return bits if component.bits == 8 else finite(bits, component)
