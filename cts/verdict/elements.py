"""Elements of byte arrays: gather, scatter, and words for messages."""

from __future__ import annotations

import numpy as np

from generators.numerics.formats import values
from generators.types import ComponentType


def byte_offsets(offsets: np.ndarray, size: int) -> np.ndarray:
    """Return the offsets of every byte of the elements of ``size`` bytes at ``offsets``, shape (..., size)."""
    return np.asarray(offsets[..., None] + np.arange(size, dtype=np.int64))


def _aligned(contents: np.ndarray, offsets: np.ndarray, size: int) -> bool:
    """Tell whether the elements can be indexed in a view of ``contents`` as elements of their size."""
    if size == 1:
        return True
    return len(contents) % size == 0 and contents.flags.c_contiguous and not np.bitwise_or.reduce(offsets, axis=None) & (size - 1)


def gather(contents: np.ndarray, offsets: np.ndarray, component: ComponentType) -> np.ndarray:
    """Return the bits of the elements at byte ``offsets`` of ``contents`` (uint8, one dimension); unsigned, of the shape of ``offsets``."""
    size = component.bytes
    if _aligned(contents, offsets, size):
        return np.asarray(contents.view(component.bits_dtype)[offsets // size])
    return np.asarray(contents[byte_offsets(offsets, size)].view(component.bits_dtype)[..., 0])


def scatter(contents: np.ndarray, offsets: np.ndarray, bits: np.ndarray) -> None:
    """Write ``bits`` (unsigned, of the shape of ``offsets`` or without dimensions) to ``contents`` (uint8) at byte ``offsets``."""
    size = bits.dtype.itemsize
    if _aligned(contents, offsets, size):
        contents.view(bits.dtype)[offsets // size] = bits
    else:
        contents[byte_offsets(offsets, size)] = np.ascontiguousarray(bits)[..., None].view(np.uint8)


def number(value: float) -> str:
    """Write a value in the fewest digits that identify it."""
    return f"{value:.17g}" if float(f"{value:.9g}") != value else f"{value:.9g}"


def words(bits: int, component: ComponentType) -> str:
    """Write bits in hexadecimal, and their value, for example ``0x3c00 (1)``."""
    value = values(np.array([bits], component.bits_dtype), component)[0]
    text = number(float(value)) if component.is_float else str(int(value))
    return f"0x{bits:0{component.bits // 4}x} ({text})"
