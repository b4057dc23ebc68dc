"""How long a run may go on beginning cases."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class TimeLimit:
    """Picklable; processes on one machine agree about it.

    Attributes:
        seconds: of the option.
        until: when no further case begins, in seconds since the epoch.
    """

    seconds: float
    until: float

    @property
    def over(self) -> bool:
        """Whether no further case begins."""
        return time.time() >= self.until


def beginning_now(seconds: float) -> TimeLimit:
    """Return a limit of so many seconds from this moment on."""
    return TimeLimit(seconds, time.time() + seconds)
