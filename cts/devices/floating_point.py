"""Checks the floating-point mode of the calling thread, which a driver may change."""

from __future__ import annotations

import ctypes
import sys

_DEFAULT = ctypes.c_void_p(-1)
"""FE_DFL_ENV in glibc and musl."""

_HALF, _ONE, _EPSILON = 0.5, 1.0, sys.float_info.epsilon
_SMALLEST_NORMAL, _SMALLEST = sys.float_info.min, 5e-324


def changed() -> str:
    """Describe how the mode differs from the default; empty if it does not. Costs less than a microsecond."""
    # Variables, because the compiler would fold constants in the mode that is set when it runs.
    one, half, epsilon = _ONE, _HALF, _EPSILON
    if _SMALLEST_NORMAL * half == 0.0 or _SMALLEST * one == 0.0:
        return "subnormal numbers become zero"
    # Rounding to nearest gives one and its upper neighbour; every other direction changes one of the results.
    up, down = one + epsilon * half * half, one + epsilon * (one - half * half)
    if up != one or down == one:
        return "numbers are rounded in another direction"
    return ""


def restore() -> None:
    """Restore the default mode if the C library allows it."""
    try:
        set_environment = ctypes.CDLL(None).fesetenv
    except (OSError, AttributeError, TypeError):
        return
    set_environment(_DEFAULT)
