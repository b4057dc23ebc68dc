"""How long the user of a command has waited."""

from __future__ import annotations

import os
import time
from pathlib import Path

_START = 19
"""The place of the start among the fields after the name in /proc/PID/stat: field 22 of proc(5)."""


def start_of(stat: str, ticks: int) -> float:
    """Return when a process began, in seconds since the system started.

    Args:
        stat: the contents of its /proc/PID/stat.
        ticks: the clock ticks of a second.
    """
    # The name is in parentheses, and may contain any character.
    return int(stat.rpartition(")")[2].split()[_START]) / ticks


def seconds_since_start() -> float | None:
    """Return the seconds since this process began; None if the system does not tell."""
    try:
        stat = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - start_of(stat, os.sysconf("SC_CLK_TCK"))
    except (AttributeError, OSError, ValueError, IndexError):
        return None
