"""Patterns of bits for value moves: the values that loads and stores must move unchanged.

Facts.md C16 lists matrix loads and stores as bit-preserving, but promises NaN, infinity and minus zero only under
SignedZeroInfNanPreserve; float patterns leave these out but include denormals.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np

from generators.numerics.formats import sign_bit
from generators.types import ComponentType

Pattern = Literal["index", "index_high", "bits", "extremes"]
"""The names of patterns."""

_LOW_PERIOD, _HIGH_PERIOD = 241, 239
"""Primes below the number of finite patterns of any 8-bit type, so no power-of-two stride aliases."""

_HALF = 30011
"""The code of the first position in half 1, in types of 16 bits and more."""


@cache
def finite_bits(component: ComponentType) -> np.ndarray:
    """Return every bit pattern of an 8- or 16-bit type that a move must preserve, ascending; read-only."""
    bits = np.arange(1 << component.bits, dtype=np.uint32).astype(component.bits_dtype)
    if component.is_float:
        values = bits.view(component.dtype).astype(np.float32)
        bits = bits[np.isfinite(values) & ~((values == 0) & np.signbit(values))]
    bits.setflags(write=False)
    return bits


def _spread(component: ComponentType, codes: np.ndarray) -> np.ndarray:
    """Map different codes (below 2**31) to different finite bit patterns, with neighbours far apart and the whole width in use."""
    if component.bits <= 16:
        table = finite_bits(component)
        return np.asarray(table[(codes * 7919 + 12345) % len(table)])
    multiplier, start = (2654435761, 0x9E3779B9) if component.bits == 32 else (0x9E3779B97F4A7C15, 0x7F4A7C159E3779B9)
    return _make_finite(component, codes.astype(np.uint64) * np.uint64(multiplier) + np.uint64(start))


def _make_finite(component: ComponentType, mixed: np.ndarray) -> np.ndarray:
    """Clear one exponent bit of the float patterns that are NaN or infinite, and the sign of minus zero."""
    bits = mixed.astype(component.bits_dtype)
    if component.is_float:
        values = bits.view(component.dtype)
        bits[~np.isfinite(values)] ^= component.bits_dtype.type(1 << (component.precision - 1))
        bits[values == 0] = 0
    return bits


def index_coded(component: ComponentType, count: int, half: int = 0) -> np.ndarray:
    """Return bits that identify their own position, so a transposition, a shift or a wrong layout is always noticed.

    In types of 16 bits and more, up to 60,000 positions have different bits. 8 bits cannot identify more than about 250 positions: ``half``
    0 names the position modulo 241, ``half`` 1 the quotient, and both together the position.

    Returns:
        Unsigned integers of the component's width, shape (count,).
    """
    if component.bits > 16:
        return _spread(component, np.arange(count, dtype=np.int64) + _HALF * half)
    period = _period(component, half)
    return period[:count].copy() if count <= len(period) else np.resize(period, count)


@cache
def _period(component: ComponentType, half: int) -> np.ndarray:
    """Return the bits of ``index_coded`` in a type of 8 or 16 bits, until they repeat; read-only."""
    if component.bits == 16:
        codes = np.arange(len(finite_bits(component)), dtype=np.int64) + _HALF * half
    else:
        codes = np.arange(_LOW_PERIOD) if half == 0 else np.repeat(np.arange(_HIGH_PERIOD), _LOW_PERIOD)
    bits = _spread(component, codes)
    bits.setflags(write=False)
    return bits


def random_bits(component: ComponentType, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw full-range bits; for floats every finite value with equal chance per pattern, denormals included. Shape (count,)."""
    if component.bits <= 16:
        table = finite_bits(component)
        return table[rng.integers(0, len(table), count)]
    return _make_finite(component, rng.integers(0, 1 << component.bits, count, dtype=np.uint64))


def normal(bits: np.ndarray, component: ComponentType) -> np.ndarray:
    """Return bits; float components get the exponents of normal numbers."""
    if not component.is_float:
        return bits
    lowest = 1 << component.precision - 1
    field = int(sign_bit(component)) - lowest
    dtype = component.bits_dtype.type
    found = bits & dtype(field)
    raised = np.where(found == 0, bits | dtype(lowest), bits)
    return np.where(found == dtype(field), raised & ~dtype(lowest), raised).astype(component.bits_dtype)


def normal_bits(component: ComponentType, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw bits like random_bits, with 1 instead of zeros, whose sign is unspecified if code makes them from components; floats are normal
    numbers, so an instruction that may flush denormals must keep them. Shape (count,)."""
    bits = normal(random_bits(component, count, rng), component)
    return np.where(bits == 0, component.bits_dtype.type(1), bits)


def extreme_bits(component: ComponentType, count: int) -> np.ndarray:
    """Cycle through the ends of the type: for floats the denormal and normal limits of both signs, for integers the limits and single bits.
    The period is odd, so rows whose length is a power of two differ. Shape (count,)."""
    width = component.bits
    if component.is_float:
        hidden = component.precision - 1
        if width <= 16:
            positive = finite_bits(component)
            largest = int(positive[positive < (1 << (width - 1))].max())
        else:
            largest = (((1 << (width - 1)) - 1) >> hidden << hidden) - 1
        magnitudes = [1, (1 << hidden) - 1, 1 << hidden, (1 << hidden) + 1, largest - 1, largest]
        sign = 1 << (width - 1)
        patterns = [0, *(m | s for m in magnitudes for s in (0, sign))]
    else:
        top = 1 << (width - 1)
        patterns = [0, 1, top - 1, top, (1 << width) - 1, top + 1, top >> 1, 0x55 * ((1 << width) // 255), (1 << width) - 2]
    if len(patterns) % 2 == 0:
        patterns.append(3)
    table = np.array(patterns, np.uint64).astype(component.bits_dtype)
    return table[np.arange(count) % len(table)]


def counted_bytes(component: ComponentType, first: int = 0x93) -> int:
    """Return bits whose bytes count up from ``first``, the most significant one first; they change if they are read with fewer or more
    bits."""
    return int.from_bytes(bytes(range(first, first + component.bytes)), "big")


def tame_bits(component: ComponentType, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw random bits of the whole width for integers; for floats random signs, all bits of the significand, and magnitudes from 2**-3
    to 2**3, so small factors give exact, normal results. Unsigned, (count,)."""
    if not component.is_float:
        return rng.integers(0, 1 << component.bits, count, dtype=np.uint64, endpoint=False).astype(component.bits_dtype)
    hidden = component.precision - 1
    one = int(np.ones((), component.dtype).view(component.bits_dtype)) >> hidden
    exponents = rng.integers(one - 3, one + 3, count, dtype=np.uint64)
    fractions = rng.integers(0, 1 << hidden, count, dtype=np.uint64)
    signs = rng.integers(0, 2, count, dtype=np.uint64)
    bits = signs << np.uint64(component.bits - 1) | exponents << np.uint64(hidden) | fractions
    return bits.astype(component.bits_dtype)


def pattern_bits(pattern: str, component: ComponentType, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return the bits of a pattern; ``index_high`` is half 1 of ``index``. Unsigned integers of the component's width, shape (count,)."""
    match pattern:
        case "index":
            return index_coded(component, count)
        case "index_high":
            return index_coded(component, count, half=1)
        case "bits":
            return random_bits(component, count, rng)
        case _:
            return extreme_bits(component, count)
