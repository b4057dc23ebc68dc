"""Rounding of numbers to a component type: to nearest, toward zero, and to the two neighbours that correct rounding chooses from.

Numbers are float64. An exact value that float64 cannot represent is given as ``value`` + ``rest``, where ``value`` is its nearest float64
(generators.numerics.error_free). This is enough to find the neighbours in any type up to f64 itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from generators.numerics.formats import largest_finite, smallest_normal
from generators.types import COMPONENT_TYPES, ComponentType


def ulp(component: ComponentType, values: np.ndarray) -> np.ndarray:
    """Return the distance between neighbours of ``component`` in the binade of each value; below the normal range, the distance of
    denormals."""
    _, exponent = np.frexp(np.maximum(np.abs(values), smallest_normal(component)))
    return np.asarray(np.ldexp(1.0, exponent - component.precision))


def nearest(component: ComponentType, values: np.ndarray) -> np.ndarray:
    """Return the values rounded to the nearest of ``component``, ties to even. Values beyond the largest become infinity."""
    step = ulp(component, values)
    rounded = np.rint(values / step) * step
    return np.asarray(np.where(np.abs(rounded) > largest_finite(component), np.copysign(np.inf, values), rounded))


def toward_zero(component: ComponentType, values: np.ndarray) -> np.ndarray:
    """Return the values truncated to ``component``. Values beyond the largest become the largest."""
    step = ulp(component, values)
    largest = largest_finite(component)
    return np.asarray(np.clip(np.trunc(values / step) * step, -largest, largest))


def to_bits(values: np.ndarray, bits: int, rounded: Callable[[np.ndarray], np.ndarray] = np.rint) -> np.ndarray:
    """Return the values with ``bits`` significand bits and an unlimited exponent; ``rounded`` rounds to whole numbers."""
    fraction, exponent = np.frexp(values)
    return np.asarray(np.ldexp(rounded(np.ldexp(fraction, bits)), exponent - bits))


def bracket(values: np.ndarray, rest: np.ndarray | float, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two numbers with ``bits`` significand bits and an unlimited exponent that enclose the exact value ``values`` + ``rest``: its
    neighbours, or the value itself twice if it has no more bits. If ``rest`` matters, an end may be one step farther out."""
    _, exponent = np.frexp(values)
    step = np.ldexp(1.0, exponent - bits)
    low, high = np.floor(values / step) * step, np.ceil(values / step) * step
    present = low == high
    return np.where(present & (rest < 0), low - step, low), np.where(present & (rest > 0), high + step, high)


def _next(component: ComponentType, values: np.ndarray, direction: float) -> np.ndarray:
    """Return the neighbour of nonzero values of ``component``."""
    # The neighbour of a power of two towards zero is nearer: on that side, the step of the lower binade applies.
    return np.asarray(values + np.copysign(ulp(component, np.nextafter(values, direction)), direction))


def neighbours(component: ComponentType, value: np.ndarray, rest: np.ndarray | float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest number of ``component`` not above the exact value and the smallest not below it; they are equal if ``component``
    has the exact value. Numbers beyond the largest finite one continue in the steps of its last binade."""
    step = ulp(component, value)
    low, high = np.floor(value / step) * step, np.ceil(value / step) * step
    if not np.any(rest):
        return low, high
    present = low == high
    high = np.where(present & (rest > 0), _next(component, high, np.inf), high)
    low = np.where(present & (rest < 0), _next(component, low, -np.inf), low)
    return low, high


def correctly_rounded(component: ComponentType, value: np.ndarray, rest: np.ndarray | float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return the two permitted results of arithmetic for the exact value ``value`` + ``rest``: the nearest number, and the other permitted
    one; they are equal if there is only one.

    Vulkan leaves open which of the two neighbours it is. SPV_KHR_bfloat16 does not, for operations on bf16: their accuracy is "the same as
    operations on IEEE754 binary32 floating-point values, with the result rounded using round-to-nearest-even or round-to-zero rounding".
    """
    low, high = neighbours(component, value, rest)
    if component is COMPONENT_TYPES["bf16"]:
        low, high = rounded_by_bfloat16(low, high, neighbours(COMPONENT_TYPES["f32"], value, rest))
    usual = np.where(high - value < value - low, high, low)
    return usual, np.where(usual == low, high, low)


def rounded_by_bfloat16(low: np.ndarray, high: np.ndarray, singles: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the neighbours ``low`` and ``high`` of exact values in bf16 that can result from ``singles``, binary32 approximations of the
    values, by rounding to nearest even or toward zero. If only one can result, return it twice."""
    steps = [ulp(COMPONENT_TYPES["bf16"], single) for single in singles]
    results = [rounded(single / step) * step for single, step in zip(singles, steps, strict=True) for rounded in (np.rint, np.trunc)]
    is_low, is_high = (np.logical_or.reduce([result == neighbour for result in results]) for neighbour in (low, high))
    return np.where(is_low, low, high), np.where(is_high, high, low)


def by_magnitude(numbers: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the neighbours ``low`` and ``high`` of ``numbers`` in order of magnitude: the one nearer to zero first."""
    negative = np.signbit(numbers)
    return np.where(negative, high, low), np.where(negative, low, high)


def neighbours_of_integers(numbers: np.ndarray, component: ComponentType) -> tuple[np.ndarray, np.ndarray]:
    """Return the neighbours of integers in ``component`` without limits: nearer to zero, and farther; they are equal if the integer is
    exact.

    This computes with integers, since float64 cannot hold all 64-bit integers.
    """
    negative = numbers < 0
    wide = numbers.astype(np.int64).view(np.uint64) if numbers.dtype.kind == "i" else numbers.astype(np.uint64)
    magnitude = np.where(negative, ~wide + np.uint64(1), wide)
    shift = np.zeros(numbers.shape, np.uint64)
    for _ in range(8 * numbers.itemsize - component.precision):
        shift += (magnitude >> shift) >= np.uint64(1 << component.precision)
    kept = magnitude >> shift
    inexact = (kept << shift) != magnitude
    sign = np.where(negative, -1.0, 1.0)
    toward = np.ldexp(sign * kept.astype(np.float64), shift.astype(np.int32))
    away = np.ldexp(sign * (kept + inexact).astype(np.float64), shift.astype(np.int32))
    return toward, away
