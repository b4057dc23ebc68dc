"""Sums and products of two float64 without error: the nearest float64 and the remainder."""

from __future__ import annotations

import numpy as np

_SPLIT = float((1 << 27) + 1)
"""Veltkamp's factor for a 53-bit significand."""


def two_sum(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``x`` + ``y`` as (value, rest), by Knuth's TwoSum, for all float64 whose sum is finite."""
    value = x + y
    back = value - x
    return value, (x - (value - back)) + (y - back)


def _halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scaled = x * _SPLIT
    high = scaled - (scaled - x)
    return high, x - high


def two_product(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``x`` * ``y`` as (value, rest), by Dekker's splitting. Both operands must be far from the ends of the float64 range, or have
    at most 53 significant bits together."""
    value = x * y
    (high_x, low_x), (high_y, low_y) = _halves(x), _halves(y)
    return value, ((high_x * high_y - value) + high_x * low_y + low_x * high_y) + low_x * low_y
