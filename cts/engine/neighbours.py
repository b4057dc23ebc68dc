"""Decides whether wrong values count that a process saw beside others: not if another process lost the device meanwhile.

After a lost device or a killed process, a driver may drop the work of other processes without an error. Seen on an H200: a shader of one
process hung for 5 s, and the fragments of another process's draw stored nothing.

Each report of a process says which time it covers and when the process lost its device in that time. A claim about wrong values waits in
the main process until every other process has reported on the same time, or has ended.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator

import msgspec

from cts.engine.set_aside import SetAside
from cts.journal.run_record import FindingRecord


class Stretch(msgspec.Struct, frozen=True):
    """The time that one report of a process covers.

    Attributes:
        process, machine: the names of the process and of its machine.
        begin, end: the time, in seconds since the epoch, by the machine's clock.
        losses: for each time that the process lost its device, since when its shaders may have run, and when the loss was seen.
    """

    process: str
    machine: str
    begin: float
    end: float
    losses: tuple[tuple[float, float], ...] = ()


class Claim(msgspec.Struct, frozen=True):
    """What a process holds against the device, if no other process has lost it meanwhile.

    Attributes:
        lines: the journal's lines of wrong values. Nobody has written them to the journal yet.
        asides: if there are lines, the judgements to make alone if the claim does not count; else those whose wrong values then do not
            count, and which wait already.
        findings: the records of controls that failed.
    """

    lines: tuple[bytes, ...] = ()
    asides: tuple[SetAside, ...] = ()
    findings: tuple[FindingRecord, ...] = ()


class Clock:
    """Measures the stretches of this process, and counts the losses of its device.

    Args:
        process: the name of this process.
        now: returns the time in seconds since the epoch.
    """

    def __init__(self, process: str, now: Callable[[], float] = time.time) -> None:
        self._process = process
        self._now = now
        self._begin = now()
        self._losses: list[tuple[float, float]] = []

    def lost(self, begin: float) -> None:
        """Record that the device is lost, or that its child did not end as it should, while shaders may have run since ``begin``."""
        self._losses.append((begin, self._now()))

    def stretch(self) -> Stretch:
        """Return the time since the last call."""
        begin, losses = self._begin, tuple(self._losses)
        self._begin = self._now()
        self._losses.clear()
        return Stretch(self._process, platform.node(), begin, self._begin, losses)


class Neighbours:
    """Knows the processes of a run, and keeps their claims until they can be decided. Other machines have other devices.

    Args:
        now: returns the time in seconds since the epoch.
    """

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._latest: dict[str, Stretch] = {}
        self._losses: list[tuple[Stretch, float, float]] = []
        self._waiting: list[tuple[Claim, Stretch]] = []

    def begins(self, process: str) -> None:
        """Record that a process begins, and will report."""
        now = self._now()
        self._latest[process] = Stretch(process, "", now, now)

    def reports(self, stretch: Stretch, claim: Claim | None = None) -> None:
        """Record a report of a process, and keep its claim."""
        self._latest[stretch.process] = stretch
        self._losses += [(stretch, *loss) for loss in stretch.losses]
        if claim is not None:
            self._waiting.append((claim, stretch))

    def ends(self, process: str, died: bool) -> None:
        """Record that a process has ended. If it died, it lost its device at some time since its last report."""
        latest = self._latest.pop(process, None)
        if died and latest is not None:
            self._losses.append((latest, latest.end, max(latest.end, self._now())))

    def decided(self) -> Iterator[tuple[Claim, bool]]:
        """Yield each claim that can be decided now, with whether it counts, and keep it no longer."""
        waiting, self._waiting = self._waiting, []
        for claim, stretch in waiting:
            if any(_may_share(other, stretch) and other.end < stretch.end for other in self._latest.values()):
                self._waiting.append((claim, stretch))
            else:
                beside = [(begin, end) for loser, begin, end in self._losses if _may_share(loser, stretch)]
                yield claim, not any(begin <= stretch.end and stretch.begin <= end for begin, end in beside)


def _may_share(other: Stretch, stretch: Stretch) -> bool:
    """Tell whether two stretches are of different processes that may share a device: the machine of a process that has begun is unknown."""
    return other.process != stretch.process and other.machine in ("", stretch.machine)
