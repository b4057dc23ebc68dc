"""Correctly rounded arithmetic: the one exact value, or either of the two neighbours of a value that the type does not have.

Vulkan's Precision and Operation of SPIR-V Instructions asks this of FAdd, FSub and FMul and leaves the direction to the
implementation (facts.md C5). An exact value is given as the sum of two float64, ``value`` + ``rest``, ``value`` being its nearest
float64: that is enough to find the neighbours in any type up to f64 itself.
"""

from __future__ import annotations

import numpy as np

from cts.reference.rounding import ulp
from generators.types import ComponentType

_SPLIT = float((1 << 27) + 1)
"""Veltkamp's factor for a 53-bit significand."""


def exact_sum(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``x`` + ``y`` as (value, rest), which Knuth's TwoSum finds for all float64 whose sum is finite."""
    value = x + y
    back = value - x
    return value, (x - (value - back)) + (y - back)


def _halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scaled = x * _SPLIT
    high = scaled - (scaled - x)
    return high, x - high


def exact_product(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``x`` * ``y`` as (value, rest), by Dekker's splitting. Both lie far from the ends of the range of float64, or have together no
    more than 53 significant bits."""
    value = x * y
    (high_x, low_x), (high_y, low_y) = _halves(x), _halves(y)
    return value, ((high_x * high_y - value) + high_x * low_y + low_x * high_y) + low_x * low_y


def _next(component: ComponentType, values: np.ndarray, direction: float) -> np.ndarray:
    """The neighbour in ``component`` of values that it has, none of them zero."""
    # A power of two has the nearer neighbour towards zero: the step is that of the binade on this side.
    return np.asarray(values + np.copysign(ulp(component, np.nextafter(values, direction)), direction))


def neighbours(component: ComponentType, value: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest number of ``component`` that is not above the exact value and the smallest that is not below it, float64; equal
    where ``component`` has the exact value. Numbers beyond the largest finite one count on in its last binade's steps."""
    step = ulp(component, value)
    low, high = np.floor(value / step) * step, np.ceil(value / step) * step
    present = low == high
    high = np.where(present & (rest > 0), _next(component, high, np.inf), high)
    low = np.where(present & (rest < 0), _next(component, low, -np.inf), low)
    return low, high
