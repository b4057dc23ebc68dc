from __future__ import annotations

import ctypes
import platform

import pytest

from cts.devices import floating_point

FLUSH_TO_ZERO, SUBNORMALS_ARE_ZERO = 1 << 15, 1 << 6
TO_NEAREST, UP, DOWN, TO_ZERO = 0, 0x800, 0x400, 0xC00
"""Arguments of fesetround on x86."""

OTHER = (platform.machine(), platform.libc_ver()[0]) != ("x86_64", "glibc")
pytestmark = pytest.mark.skipif(OTHER, reason="sets the modes of x86-64 with glibc")


@pytest.fixture
def library():
    library = ctypes.CDLL("libm.so.6")
    yield library
    library.fesetround(TO_NEAREST)
    floating_point.restore()


def test_a_process_begins_unchanged():
    assert floating_point.changed() == ""


@pytest.mark.parametrize("bits", [FLUSH_TO_ZERO, SUBNORMALS_ARE_ZERO, FLUSH_TO_ZERO | SUBNORMALS_ARE_ZERO])
def test_subnormal_numbers_that_become_zero_are_seen_and_restored(bits, library):
    environment = (ctypes.c_uint32 * 8)()
    library.fegetenv(environment)
    environment[7] |= bits
    library.fesetenv(environment)
    seen = floating_point.changed()
    floating_point.restore()
    assert "subnormal" in seen
    assert floating_point.changed() == ""


@pytest.mark.parametrize("direction", [UP, DOWN, TO_ZERO])
def test_another_direction_of_rounding_is_seen_and_restored(direction, library):
    library.fesetround(direction)
    seen = floating_point.changed()
    floating_point.restore()
    assert "rounded" in seen
    assert floating_point.changed() == ""
