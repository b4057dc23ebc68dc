"""Decides how long to wait for a process: its limit, plus the time that it spent waiting for a CPU."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

Measure = Callable[[], Callable[[], float]]
"""Begins to measure. The returned function returns the seconds since then that a process was ready to run but had no CPU."""

MOST_GRANTED = 60.0
"""The most extra seconds that a step may get, however loaded the machine is; a step with a longer limit may get its limit once more."""

_UNMEASURED = 0.1
"""Fraction of the limit after which measuring begins. Most steps are over by then and cost nothing."""

_SHORTEST_WAIT = 0.01
"""Fraction of the limit: the shortest wait before the measure is read again."""


class Late(Exception):
    """The limit has passed."""


class Patience:
    """Decides when a step has taken too long.

    Only the time that the process runs or sleeps counts. The time that it waits for a CPU does not, up to MOST_GRANTED.

    Args:
        seconds: the limit of each step.
        measure: see Measure.
        clock: returns the time in seconds.

    Attributes:
        granted: extra seconds that the present step got.
    """

    def __init__(self, seconds: float, measure: Measure, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._measure = measure
        self._clock = clock
        self.restart()

    def restart(self) -> None:
        """Begin a step: it gets the whole limit."""
        self._begin = self._clock()
        self._waited: Callable[[], float] | None = None
        self._overslept = 0.0
        self.granted = 0.0

    def remaining(self) -> float:
        """Return how many seconds to wait before calling this again.

        Raises:
            Late: the step has taken too long.
        """
        passed = self._clock() - self._begin
        if self._waited is None:
            quiet = self._seconds * _UNMEASURED
            if passed < quiet:
                return quiet - passed
            # If this process comes here late, it had no CPU itself, and the other process probably had none either.
            self._overslept = passed - quiet
            self._waited = self._measure()
        if passed < self._seconds:
            return self._seconds - passed
        self.granted = min(self._overslept + self._waited(), max(MOST_GRANTED, self._seconds))
        left = self._seconds + self.granted - passed
        if left <= 0:
            raise Late
        return max(left, self._seconds * _SHORTEST_WAIT)


def waiting_for_cpu(pid: int) -> Callable[[], float]:
    """Begin to measure how long a process waits for a CPU: the longest wait of any thread of it or of its descendants. See Measure."""
    before = _waited_by_thread(pid)
    if not before:
        return _by_load()

    def waited() -> float:
        now = _waited_by_thread(pid)
        return max((seconds - before.get(thread, 0.0) for thread, seconds in now.items()), default=0.0)

    return waited


def _waited_by_thread(pid: int) -> dict[str, float]:
    """Return the seconds that each thread, by path, was runnable but did not run. Empty if the kernel does not count them."""
    found: dict[str, float] = {}
    processes = [str(pid)]
    while processes:
        try:
            threads = list(Path(f"/proc/{processes.pop()}/task").iterdir())
        except OSError:
            continue
        for thread in threads:
            try:
                ran, waited, *_ = (thread / "schedstat").read_text().split()
                if ran != "0":
                    found[str(thread)] = int(waited) / 1e9
                processes += (thread / "children").read_text().split()
            except (OSError, ValueError):
                # The thread has just ended, or the kernel was built without these statistics.
                continue
    return found


def _by_load() -> Callable[[], float]:
    """Estimate the wait for a CPU from the machine's load: of L threads that share C CPUs, each waits 1 - C/L of the time."""
    begin = time.monotonic()

    def waited() -> float:
        try:
            load = os.getloadavg()[0]
        except OSError:
            return 0.0
        cpus = os.cpu_count() or 1
        return (time.monotonic() - begin) * max(0.0, 1 - cpus / load) if load > 0 else 0.0

    return waited
