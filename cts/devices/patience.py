"""Decides how long to wait for a process: its limit, and additionally the time for which the machine had no CPU for it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

Measure = Callable[[], Callable[[], float]]
"""Begins to measure; what it returns tells the seconds, since then, for which a process could have run and no CPU was free."""

MOST_TIMES = 20
"""How many times its limit a step may take at most, however loaded the machine is."""

_UNMEASURED = 0.1
"""Part of the limit after which measuring begins: most steps are over by then, and cost nothing."""

_SHORTEST_WAIT = 0.01
"""Part of the limit that is waited at least before the measure is read again."""


class Late(Exception):
    """The limit has passed."""


class Patience:
    """Decides when a step has taken too long.

    A step that has had the CPU, or has slept, for ``seconds`` is late. While its process waits for a CPU, its time does not pass.

    Args:
        seconds: the limit of each step.
        measure: see Measure.
        clock: in seconds.

    Attributes:
        granted: seconds that the present step got beyond its limit.
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
        """Return for how many seconds to wait before this is asked again.

        Raises:
            Late: the step has taken too long.
        """
        passed = self._clock() - self._begin
        if self._waited is None:
            quiet = self._seconds * _UNMEASURED
            if passed < quiet:
                return quiet - passed
            # This process was to be here earlier. Where it was not, it got no CPU itself, and the other one probably none either.
            self._overslept = passed - quiet
            self._waited = self._measure()
        if passed < self._seconds:
            return self._seconds - passed
        self.granted = min(self._overslept + self._waited(), (MOST_TIMES - 1) * self._seconds)
        left = self._seconds + self.granted - passed
        if left <= 0:
            raise Late
        return max(left, self._seconds * _SHORTEST_WAIT)


def waiting_for_cpu(pid: int) -> Callable[[], float]:
    """Begin to measure how long the most starved thread of a process, or of one that it started, waits for a CPU; see Measure."""
    before = _waited_by_thread(pid)
    if not before:
        return _by_load()

    def waited() -> float:
        now = _waited_by_thread(pid)
        return max((seconds - before.get(thread, 0.0) for thread, seconds in now.items()), default=0.0)

    return waited


def _waited_by_thread(pid: int) -> dict[str, float]:
    """Return, by path of each thread, the seconds for which it was runnable and did not run. Empty where the kernel does not count them."""
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
                # It has just ended, or the kernel was built without this.
                continue
    return found


def _by_load() -> Callable[[], float]:
    """Measure as waiting_for_cpu, where only the machine's load is known: of L threads that want one of C CPUs, each waits 1 - C/L of the
    time."""
    begin = time.monotonic()

    def waited() -> float:
        try:
            load = os.getloadavg()[0]
        except OSError:
            return 0.0
        cpus = os.cpu_count() or 1
        return (time.monotonic() - begin) * max(0.0, 1 - cpus / load) if load > 0 else 0.0

    return waited
