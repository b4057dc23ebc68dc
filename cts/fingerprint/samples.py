"""Random operands of a row, by whole matrices, so that few operands give many results. The same seed gives the same operands."""

from __future__ import annotations

import zlib

import numpy as np

from cts.fingerprint.one_operand import OneOperand, Row
from cts.fingerprint.probes import Vectors
from generators.numerics.formats import bits_of, encode, finite, largest_finite, sign_bit, smallest_normal
from generators.numerics.rounding import ulp
from generators.property_rows import PropertyRow
from generators.types import ComponentType

RECIPE = 1
"""The number of this choice of probes and random operands. Whoever changes them counts it up: files keep only the seed of the latter."""

KINDS = ("normal", "spread", "cancelling", "sparse", "one_scale", "bits")
"""The kinds of data, which take turns by matrix."""


def samples(row: Row, seed: int, first: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return matrices ``first`` to ``first`` + ``count`` - 1: bits, (count, M, K), (count, K, N), (count, M, N)."""
    name = zlib.crc32(str(row).encode())
    kinds = kinds_of(row)
    drawn = [_matrices(row, kinds[i % len(kinds)], np.random.default_rng([seed, name, i])) for i in range(first, first + count)]
    a, b, c = (np.stack([one[which] for one in drawn]) for which in range(3))
    return a, b, c


def matrices_as_vectors(row: Row, seed: int, first: int, count: int) -> Vectors:
    """Return the operands of every result of the same matrices, row by row."""
    a, b, c = samples(row, seed, first, count)
    whole = (count, row.m, row.n, row.k)
    left, right = np.broadcast_to(a[:, :, None], whole), np.broadcast_to(b.swapaxes(1, 2)[:, None], whole)
    return Vectors((), left.reshape(-1, row.k), right.reshape(-1, row.k), c.reshape(-1))


def kinds_of(row: Row) -> tuple[str, ...]:
    """Return the kinds of a row's data."""
    return KINDS if not isinstance(row, OneOperand) or row.mode is not None else ("any_bits", "ties", "range")


def kind_of(row: Row, elements: np.ndarray) -> np.ndarray:
    """Return the number among the row's kinds of each element, by its index among all."""
    return np.asarray(elements // (row.m * row.n) % len(kinds_of(row)))


def sampled(row: Row, seed: int, elements: np.ndarray) -> Vectors:
    """Return the operands of some results, by ascending indices."""
    own, size = elements // (row.m * row.n), row.m * row.n
    parts = []
    for matrix in np.unique(own):
        a, b, c = (one[0] for one in samples(row, seed, int(matrix), 1))
        places = elements[own == matrix] % size
        parts.append((a[places // row.n], b[:, places % row.n].T, c.reshape(-1)[places]))
    return Vectors((), *(np.concatenate([part[i] for part in parts]) for i in range(3)))


def _matrices(row: Row, kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if isinstance(row, OneOperand):
        a = _conversion(row, kind, rng) if row.mode is None else _summands(row, kind, rng)
        return a, np.full((row.k, 1), bits_of(row.a, 1.0), a.dtype), np.zeros((row.m, 1), a.dtype)
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


def _summands(row: OneOperand, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Return the elements that are summed, (m, k), as the factors A of a multiply-add of this kind."""
    a, b, _ = _matrices(PropertyRow(row.m, 1, row.k, row.a, row.a, row.a, row.a, False), kind, rng)
    sign = row.a.bits_dtype.type(sign_bit(row.a))
    return np.asarray(a ^ (b[:, 0] & sign))


def _conversion(row: OneOperand, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Return the elements that are converted, (m, 1): any bits, ties and their neighbours, or numbers of all exponents of the result."""
    any_bits = rng.integers(0, 1 << row.a.bits, (row.m, 1), np.uint64).astype(row.a.bits_dtype)
    if kind == "any_bits":
        return any_bits
    target = row.result
    low, high = (np.log2(limit) for limit in (smallest_normal(target) * 2.0**-target.precision, largest_finite(target) * 4))
    with np.errstate(over="ignore"):
        numbers = np.exp2(rng.uniform(low, high, any_bits.shape))
        if kind == "ties":
            step = ulp(target, numbers)
            numbers = (np.floor(numbers / step) + 0.5) * step
        bits = encode(row.a, numbers)
    beside = rng.integers(-1, 2, bits.shape) if kind == "ties" else 0
    sign = any_bits & row.a.bits_dtype.type(sign_bit(row.a))
    return np.asarray((bits + beside).astype(row.a.bits_dtype) | sign)
