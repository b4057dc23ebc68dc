"""Floating-point arithmetic of the vector unit, to the bit: one rounding in the mode of the wave, and what becomes of denormals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cts.devices.executed.arrays import Array
from cts.devices.executed.errors import NotModelled
from cts.devices.executed.wave import Wave

EVEN, UP, DOWN, ZERO = range(4)
"""The rounding modes of FLOAT_MODE."""

OVERFLOW_TO_LARGEST = 1 << 23
"""The bit FP16_OVFL of MODE: what overflows becomes the largest number of a narrow format, not infinity or NaN."""


@dataclass(frozen=True)
class Format:
    """A binary format of IEEE 754."""

    dtype: np.dtype[Any]
    unsigned: np.dtype[Any]
    magnitudes: Any
    """All bits except the sign, of the unsigned type."""
    largest_denormal: Any
    mode_shift: int
    """The lowest bit of its rounding mode in FLOAT_MODE; its denormal mode is 4 bits above."""

    def rounding(self, wave: Wave) -> int:
        """Return the rounding mode."""
        return wave.mode >> self.mode_shift & 3

    def denormals(self, wave: Wave) -> int:
        """Return whether denormals of operands (bit 0) and results (bit 1) are kept."""
        return wave.mode >> self.mode_shift + 4 & 3

    def flushed(self, value: Array) -> Array:
        """Return the values with zeros of the same sign in place of denormals."""
        bits = value.view(self.unsigned)
        magnitude = bits & self.magnitudes
        # Zero wraps to the largest number, so only denormals are below.
        small = magnitude - self.unsigned.type(1) < self.largest_denormal
        return np.where(small, bits & ~self.magnitudes, bits).view(self.dtype) if small.any() else value


def _format(name: str, significand: int, shift: int) -> Format:
    bits = int(name[1:])
    unsigned = np.dtype(f"<u{bits // 8}")
    of = unsigned.type
    return Format(np.dtype(f"<f{bits // 8}"), unsigned, of((1 << bits - 1) - 1), of((1 << significand) - 1), shift)


F16, F32 = _format("f16", 10, 2), _format("f32", 23, 0)

Exact = Callable[..., Array]
"""Takes float64 operands, and returns the result rounded to odd in float64: rounding that is the same as rounding the exact result."""


def modal(form: Format, exact: Exact, native: Callable[..., Array] | None = None, source: Format | None = None) -> Callable[..., Array]:
    """Return an operation that obeys the wave's mode.

    Args:
        exact: the operation for every rounding mode.
        native: NumPy's operation in ``form``, which rounds to the nearest even; None if it has none.
        source: the format of the operands, if it is another.
    """
    given = source or form

    def operation(wave: Wave, *operands: Array) -> Array:
        if form is F16 and wave.mode & OVERFLOW_TO_LARGEST:
            raise NotModelled("FP16_OVFL", "for arithmetic of f16")
        if not given.denormals(wave) & 1:
            operands = tuple(given.flushed(operand) for operand in operands)
        mode = form.rounding(wave)
        if mode == EVEN and native is not None:
            result = native(*operands)
        else:
            result = rounded(exact(*(operand.astype(np.float64) for operand in operands)), form.dtype, mode)
        return result if form.denormals(wave) & 2 else form.flushed(result)

    return operation


def rounded(value: Array, dtype: np.dtype[Any], mode: int) -> Array:
    """Return float64 values, exact or rounded to odd, in a narrower format."""
    nearest: Array = value.astype(dtype)
    if mode == EVEN:
        return nearest
    wide = nearest.astype(np.float64)
    infinite = np.asarray({UP: np.inf, DOWN: -np.inf, ZERO: 0.0}[mode], dtype)
    wrong = {UP: wide < value, DOWN: wide > value, ZERO: np.abs(wide) > np.abs(value)}[mode]
    # The neighbour of the largest number is infinity, and the neighbour of the smallest is zero. Both are right.
    with np.errstate(over="ignore", under="ignore"):
        return np.where(wrong, np.nextafter(nearest, infinite), nearest)


def odd(sum_: Array, error: Array) -> Array:
    """Return the sum rounded to odd, from the sum rounded to nearest and its error."""
    last = sum_.view(np.uint64) & np.uint64(1)
    even = (error != 0) & (last == 0) & np.isfinite(sum_)
    return np.where(even, np.nextafter(sum_, np.where(error > 0, np.inf, -np.inf)), sum_) if even.any() else sum_


def added(a: Array, b: Array) -> Array:
    """Return a + b, rounded to odd."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    return odd(total, np.where(np.isfinite(error), error, 0.0))


def fused(a: Array, b: Array, c: Array) -> Array:
    """Return a * b + c of narrower operands, rounded to odd."""
    return added(a * b, c)


def smaller(a: Array, b: Array) -> Array:
    """Return the smaller operand; a number rather than NaN, -0 rather than +0."""
    return _zeros(a, b, np.fmin(a, b), np.bitwise_or)


def larger(a: Array, b: Array) -> Array:
    """Return the larger operand; a number rather than NaN, +0 rather than -0."""
    return _zeros(a, b, np.fmax(a, b), np.bitwise_and)


def _zeros(a: Array, b: Array, result: Array, of_bits: Callable[[Array, Array], Array]) -> Array:
    unsigned = np.dtype(f"<u{result.itemsize}")
    return np.where(a == b, of_bits(a.view(unsigned), b.view(unsigned)).view(result.dtype), result)


def middle(a: Array, b: Array, c: Array) -> Array:
    """Return the operand between the others; the smallest if one is NaN."""
    nan = np.isnan(a) | np.isnan(b) | np.isnan(c)
    between = larger(smaller(a, b), smaller(larger(a, b), c))
    return np.where(nan, smaller(smaller(a, b), c), between)


def to_integer(value: Array, dtype: Any) -> Array:
    """Return floats as integers: towards zero, the nearest integer of the type if it is too large, 0 for NaN."""
    limits = np.iinfo(dtype)
    whole = np.trunc(np.where(np.isnan(value), 0.0, value.astype(np.float64)))
    return np.clip(whole, limits.min, limits.max).astype(dtype)
