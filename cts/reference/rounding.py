"""Rounding of float64 to a component type."""

from __future__ import annotations

import numpy as np

from generators.inputs.exactness import largest_finite, smallest_normal
from generators.types import ComponentType


def ulp(component: ComponentType, values: np.ndarray) -> np.ndarray:
    """Distance between neighbours of ``component`` in the binade of each float64 value, float64; that of the denormals below."""
    _, exponent = np.frexp(np.maximum(np.abs(values), smallest_normal(component)))
    return np.asarray(np.ldexp(1.0, exponent - component.precision))


def nearest(component: ComponentType, values: np.ndarray) -> np.ndarray:
    """Float64 values rounded to the nearest of ``component``, ties to even, kept as float64. Beyond the largest: infinity."""
    step = ulp(component, values)
    rounded = np.rint(values / step) * step
    return np.asarray(np.where(np.abs(rounded) > largest_finite(component), np.copysign(np.inf, values), rounded))


def toward_zero(component: ComponentType, values: np.ndarray) -> np.ndarray:
    """Float64 values truncated to ``component``, kept as float64. Beyond the largest: the largest."""
    step = ulp(component, values)
    largest = largest_finite(component)
    return np.asarray(np.clip(np.trunc(values / step) * step, -largest, largest))


def encode(component: ComponentType, values: np.ndarray) -> np.ndarray:
    """Bits of float64 values that ``component`` can represent (or infinite), unsigned."""
    # Infinity becomes NaN in a type that has none, which warns.
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(values).astype(component.dtype).view(component.bits_dtype)
