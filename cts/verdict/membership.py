"""Whether bits are in the set of allowed values of an element."""

from __future__ import annotations

import numpy as np

from cts.verdict.expected import Allowed
from generators.numerics.formats import is_nan, sign_bit, values


def allows(allowed: Allowed, bits: np.ndarray) -> np.ndarray:
    """Which of ``bits`` (of the shape of ``allowed.bits``) are allowed, bool."""
    component = allowed.component
    if allowed.kind == "interval":
        number = values(bits, component)
        # NaN compares false, so that it is never inside.
        inside = np.asarray((number >= allowed.low) & (number <= allowed.high))
    else:
        inside = np.asarray(bits == allowed.bits)
        for other in allowed.others:
            inside = inside | (bits == other)
        if allowed.either_zero and not inside.all():
            magnitude = component.bits_dtype.type(sign_bit(component) - 1)
            zero = (allowed.bits & magnitude) == 0
            for other in allowed.others:
                zero = zero | ((other & magnitude) == 0)
            inside = inside | (zero & ((bits & magnitude) == 0))
    if np.any(allowed.nan):
        inside = inside | (allowed.nan & is_nan(bits, component))
    return inside
