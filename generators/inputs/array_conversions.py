"""Data of conversions between arrays and matrices: bits that differ between positions, and floats that are normal numbers (F-QC-7)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from generators.inputs.patterns import index_coded, normal, random_bits
from generators.types import ComponentType

Pattern = Literal["index", "index_high", "bits"]
"""Derived from the position, with the low or high half of its index for 8-bit components; or random."""


def drawn(pattern: Pattern, component: ComponentType, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return bits of ``count`` components, unsigned of their width; floats are normal numbers."""
    if pattern == "bits":
        return normal(random_bits(component, count, rng), component)
    return normal(index_coded(component, count, half=int(pattern == "index_high")), component)
