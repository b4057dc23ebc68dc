"""Checks that this process still computes with floating-point numbers as before: a driver may change the mode of the calling thread."""

from __future__ import annotations

import ctypes
import sys

_DEFAULT = ctypes.c_void_p(-1)
"""FE_DFL_ENV, of glibc and musl."""

_HALF, _ONE, _EPSILON = 0.5, 1.0, sys.float_info.epsilon
_SMALLEST_NORMAL, _SMALLEST = sys.float_info.min, 5e-324


def changed() -> str:
    """Return what has changed, in words; empty if nothing has. Costs less than a microsecond."""
    # Variables: the compiler would compute with constants in the mode of its own time.
    one, half, epsilon = _ONE, _HALF, _EPSILON
    if _SMALLEST_NORMAL * half == 0.0 or _SMALLEST * one == 0.0:
        return "subnormal numbers have become zero"
    # Each is nearest to a neighbour that another direction does not give.
    up, down = one + epsilon * half * half, one + epsilon * (one - half * half)
    if up != one or down == one:
        return "numbers are rounded in another direction"
    return ""


def restore() -> None:
    """Set the initial mode of a process, if the C library allows it."""
    try:
        set_environment = ctypes.CDLL(None).fesetenv
    except (OSError, AttributeError, TypeError):
        return
    set_environment(_DEFAULT)
