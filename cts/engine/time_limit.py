"""The time after which a run begins no more cases."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class TimeLimit:
    """A time limit that all processes on one machine share. Data for other processes.

    Attributes:
        seconds: the seconds of the option.
        until: the time after which no case begins, in seconds since the epoch.
    """

    seconds: float
    until: float

    @property
    def over(self) -> bool:
        """Whether no further case begins."""
        return time.time() >= self.until


def beginning_now(seconds: float) -> TimeLimit:
    """Return a limit that ends ``seconds`` from now."""
    return TimeLimit(seconds, time.time() + seconds)
