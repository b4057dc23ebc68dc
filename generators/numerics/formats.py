"""Formats of component types: the limits of a type, and the conversions between bits and numbers."""

from __future__ import annotations

from functools import cache

import ml_dtypes
import numpy as np

from generators.types import ComponentType


def values(bits: np.ndarray, component: ComponentType) -> np.ndarray:
    """Return the numbers that ``bits`` (unsigned) represent: float64 for floats, the component's own dtype for integers."""
    native = np.ascontiguousarray(bits).view(component.dtype)
    if not component.is_float:
        return native
    # A signalling NaN, or a NaN in a type whose conversion computes, would cause a warning.
    with np.errstate(invalid="ignore"):
        return native.astype(np.float64)


def integers(bits: np.ndarray, component: ComponentType, signed: bool) -> np.ndarray:
    """Return ``bits`` as integers of the component's width: two's complement if ``signed``, otherwise unsigned, whatever the signedness of
    the type."""
    return np.ascontiguousarray(bits).view(f"i{component.bytes}") if signed else bits


def encode(component: ComponentType, numbers: np.ndarray) -> np.ndarray:
    """Return the bits, unsigned, of numbers that ``component`` can represent, or of the nearest floats. Integers wrap."""
    given = np.asarray(numbers)
    if not component.is_float and given.dtype.kind in "iu":
        return given.astype(component.dtype).view(component.bits_dtype)
    # Infinity becomes NaN in a type without infinities, which causes a warning.
    with np.errstate(over="ignore", invalid="ignore"):
        return given.astype(component.dtype).view(component.bits_dtype)


def bits_of(component: ComponentType, number: float) -> int:
    """Return the bits of one number; an integer is taken modulo the width of the type."""
    if component.is_float:
        return int(encode(component, np.array(number)))
    return int(number) % (1 << component.bits)


def is_nan(bits: np.ndarray, component: ComponentType) -> np.ndarray:
    """Return which elements are NaN; all False for integers."""
    return np.isnan(values(bits, component)) if component.is_float else np.zeros(np.shape(bits), bool)


@cache
def sign_bit(component: ComponentType) -> int:
    """Return the sign bit, the only bit set in minus zero."""
    return 1 << (component.bits - 1)


@cache
def smallest_normal(component: ComponentType) -> float:
    """Return the smallest positive normal value of a float type."""
    return float(ml_dtypes.finfo(component.dtype).smallest_normal)  # type: ignore[no-untyped-call]


@cache
def largest_finite(component: ComponentType) -> float:
    """Return the largest finite value of a float type."""
    return float(ml_dtypes.finfo(component.dtype).max)  # type: ignore[no-untyped-call]


def largest_whole(component: ComponentType) -> int:
    """Return the largest n such that the type can represent all whole numbers from 0 to n."""
    return 1 << component.precision if component.is_float else (1 << (component.bits - component.is_signed)) - 1


def denormals(numbers: np.ndarray, component: ComponentType) -> np.ndarray:
    """Return which numbers are denormal in ``component``: an implementation may flush them to zero (facts.md C29)."""
    return np.asarray((numbers != 0) & (np.abs(numbers) < smallest_normal(component)))


def finite(bits: np.ndarray, component: ComponentType) -> np.ndarray:
    """Return numbers of a float type of at least 16 bits: ``bits`` (unsigned) with the lowest exponent bit cleared."""
    return np.asarray(bits & ~component.bits_dtype.type(1 << component.precision - 1))


def signalling_nans(bits: np.ndarray, component: ComponentType) -> np.ndarray:
    """Return signalling NaNs of a float type of at least 16 bits, with sign and payload of ``bits`` (unsigned), of that shape."""
    quiet = 1 << component.precision - 2
    exponent = (1 << component.bits - 1) - (quiet << 1)
    number = component.bits_dtype.type
    return np.asarray((bits & ~number(quiet)) | number(exponent | 1))
