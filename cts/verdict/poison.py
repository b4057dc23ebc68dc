"""The contents of buffers before a dispatch: the subcase's data, and poison where only the kernel may write."""

from __future__ import annotations

from functools import cache

import numpy as np

from cts.verdict.elements import byte_offsets, scatter
from cts.verdict.expected import Exact, Expected, OneOf, ValueSet
from generators.errors import GeneratorError, Rule
from generators.program.program import Program, Subcase
from generators.types import StorageClass

_PART = 1 << 18
"""How many bytes of the pattern are computed at a time; the computation needs many times as much memory."""
_KEPT = 5 * _PART
"""How many bytes of the pattern are kept: as many as an array with a wide stride has (``generators/placements/kinds.yaml``)."""


def background(length: int) -> np.ndarray:
    """Return a new array for bytes that no store touches: a pattern that differs from place to place, without bytes 0x00 and
    0xff; uint8.
    """
    filled = np.empty(length, np.uint8)
    for start in range(0, length, _PART):
        part = filled[start : start + _PART]
        part[:] = (_kept_part(start) if start < _KEPT else _pattern(start, len(part)))[: len(part)]
    return filled


@cache
def _kept_part(start: int) -> np.ndarray:
    return _pattern(start, _PART)


def _pattern(start: int, length: int) -> np.ndarray:
    position = np.arange(start, start + length, dtype=np.uint32)
    return ((position * np.uint32(2654435761) >> np.uint32(24)) % 254 + 1).astype(np.uint8)


def poison(allowed: ValueSet) -> np.ndarray:
    """Return bits that no allowed value has, of the shape of ``allowed.bits``: their complement, or all ones (NaN for a float) if an
    interval is so wide that it contains the complement.

    Raises:
        GeneratorError: every value of an element is allowed, so it cannot be judged.
    """
    bits = ~allowed.bits
    if isinstance(allowed, Exact):
        # No value is its own complement, and the complement of a NaN or a zero is neither.
        return bits
    for replacement in (np.iinfo(bits.dtype).max, 0x5A, 0xA5):
        taken = allowed.contains(bits)
        if not taken.any():
            return bits
        bits = np.where(taken, bits.dtype.type(replacement), bits)
    taken = allowed.contains(bits)
    if isinstance(allowed, OneOf) and allowed.free is not None:
        # If everything is permitted, the complement is at least not an expected value.
        bits, taken = np.where(allowed.free, ~allowed.bits, bits), taken & ~allowed.free
    if not taken.any():
        return bits
    raise GeneratorError(
        Rule.POISON, "an element allows so many values that none is left for poison; choose data with fewer allowed values"
    )


def initial_contents(program: Program, subcase: Subcase, expected: Expected) -> dict[str, np.ndarray]:
    """Return the contents of each array that is a buffer before the dispatch.

    Input and inout arrays have the subcase's data. Output arrays are poison. An expected element gets bits that it must not have, so a
    missing write cannot look like a right one. All other bytes get a fixed pattern.

    Returns:
        uint8 arrays of ``Array.bytes`` by name; do not write to them.
    """
    contents: dict[str, np.ndarray] = {}
    for array in program.arrays:
        if array.storage is StorageClass.WORKGROUP:
            continue
        if array.role != "output":
            contents[array.name] = subcase.inputs[array.name]
            continue
        filled = background(array.bytes)
        for placed in expected.placed:
            if placed.array == array.name:
                scatter(filled, placed.offsets, poison(placed.permitted))
        contents[array.name] = filled
    return contents


def covered(length: int, expected: Expected, array: str) -> np.ndarray:
    """Tell which of the ``length`` bytes of an array some expected element covers, bool."""
    mask = np.zeros(length, bool)
    for placed in expected.placed:
        if placed.array == array:
            mask[byte_offsets(placed.offsets, placed.component.bytes)] = True
    return mask
