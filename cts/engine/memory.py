"""How a process that judges or holds a device keeps its memory: it frees arrays of a megabyte after each case, and needs as many for the
next one."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's mallopt."""

_KEPT = 1 << 28
"""How many free bytes at the end of the heap go back to the operating system."""
_LARGE = 1 << 25
"""From which size an array gets memory of its own, which goes back at once; each glibc accepts this value."""

_NEW_OBJECTS = 50_000
"""After how many new objects Python searches for cyclic garbage."""


def keep_memory() -> None:
    """Keep freed memory, and search seldom for garbage.

    Memory that comes back from the operating system costs a fault for each page, which took a fifteenth of a run on the embedded device.
    Judging makes little cyclic garbage. Other C libraries than glibc decide for themselves.
    """
    with suppress(AttributeError, OSError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_TRIM_THRESHOLD, _KEPT)
        mallopt(_MMAP_THRESHOLD, _LARGE)
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
