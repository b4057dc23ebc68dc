"""Digests of what a device wrote: two drivers' outputs can be compared, and a verifier derives those that a specification leaves no choice.

A digest covers the elements that a dispatch must write, in the order of its stores, and no other byte: poison and padding are the suite's.
It has the bits as the device wrote them, with the payload of each NaN and the sign of each zero.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np

from cts.verdict.elements import gather
from cts.verdict.expected import Exact, Expected, Placed
from generators.digests import array_bytes
from generators.numerics.formats import sign_bit

DIGITS = 8
"""Hexadecimal digits of a digest: two outputs that differ have the same digest once in 2^32."""

WITHOUT = "-" * DIGITS
"""Stands for the digest of a subcase with wrong outputs."""


def outputs_digest(expected: Expected, outputs: Mapping[str, np.ndarray]) -> str:
    """Return the digest of the elements that a dispatch wrote.

    Args:
        expected: the stores of the dispatch.
        outputs: each written buffer after the dispatch, uint8.
    """
    state = hashlib.sha256()
    for placed in expected.placed:
        state.update(array_bytes(gather(outputs[placed.array], placed.offsets, placed.component)))
    return state.hexdigest()[:DIGITS]


def split(digests: str) -> tuple[str, ...]:
    """Return the digest of each subcase from the field ``outputs`` of a result."""
    return tuple(digests[start : start + DIGITS] for start in range(0, len(digests), DIGITS))


def is_determined(expected: Expected) -> bool:
    """Tell whether only one value of each element is expected, so the digest follows from the case."""
    return all(map(_is_single, expected.placed))


def _is_single(placed: Placed) -> bool:
    allowed = placed.expected
    if not isinstance(allowed, Exact) or placed.expectation.may_be_dropped is not None or allowed.any_nan.any():
        return False
    if not allowed.either_zero:
        return True
    magnitude = allowed.component.bits_dtype.type(sign_bit(allowed.component) - 1)
    return not ((allowed.bits & magnitude) == 0).any()
