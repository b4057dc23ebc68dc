"""Data of conversions between arrays and matrices: bits that differ between positions, and floats that are normal numbers (F-QC-7)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from generators.inputs.patterns import index_coded, random_bits
from generators.numerics.formats import sign_bit
from generators.types import ComponentType

Pattern = Literal["index", "index_high", "bits"]
"""Derived from the position, with the low or high half of its index for 8-bit components; or random."""


def drawn(pattern: Pattern, component: ComponentType, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return bits of ``count`` components, unsigned of their width; floats are normal numbers."""
    if pattern == "bits":
        return normal(random_bits(component, count, rng), component)
    return normal(index_coded(component, count, half=int(pattern == "index_high")), component)


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
