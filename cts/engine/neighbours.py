"""Tells the processes that share a device whether one of them lost it while another judged a case.

After a lost device or a killed process, a driver may drop the work of other processes without an error. Seen on an H200: a shader of one
process hung for 5 s, and the fragments of another process's draw stored nothing.

The processes of a run share a file, with a row for each of them. A process that loses its device first counts the loss in its row, and then
the end of its shader. So another process that waits for the end of this shader also sees the loss.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import mkstemp

from cts.devices.isolation import Watcher
from generators.errors import CtsError

_ROW = struct.Struct("<QQ")
"""Two counts: starts and ends of shaders of a process, together odd while a shader runs; and losses of its device."""

_ROWS = 512
"""The file has space for this many processes from the start, so a disk that becomes full does not matter."""

_PAUSE = 0.005
"""Seconds between two looks at the other processes."""

PATIENCE = 2.0
"""Seconds to wait for shaders that other processes run. Most take milliseconds; one that takes longer may hang."""


class NoTemporaryFile(CtsError):
    """The processes of a run cannot share a file."""


def new_file() -> Path:
    """Make the file of a run.

    Raises:
        NoTemporaryFile: it cannot be written.
    """
    try:
        descriptor, path = mkstemp(prefix="cts-neighbours-")
        with open(descriptor, "wb") as file:
            file.write(bytes(_ROWS * _ROW.size))
    except OSError as error:
        raise NoTemporaryFile(f"-n: the processes cannot share a temporary file ({error}): set TMPDIR to a folder with space") from None
    return Path(path)


class Neighbours(Watcher):
    """A process's view of the other processes.

    Args:
        path: the file of the run.
        own: the number of this process's row. No other process has had it.
        sleep: waits for some seconds.
        patience: see PATIENCE.
    """

    def __init__(self, path: Path, own: int, sleep: Callable[[float], None] = time.sleep, patience: float = PATIENCE) -> None:
        self._file = os.open(path, os.O_RDWR)
        self._own = own
        self._changes = self._losses = 0
        self._sleep = sleep
        self._patience = patience

    def runs(self, running: bool) -> None:
        """Record that this process begins to run shaders, or no longer runs any."""
        if running != bool(self._changes % 2):
            self._changes += 1
            _write(self._file, self._own, self._changes, self._losses)

    def lost(self) -> None:
        """Record that this process lost the device."""
        self._losses += 1
        _write(self._file, self._own, self._changes, self._losses)

    def losses(self) -> int:
        """Return how often other processes have lost the device so far."""
        return sum(losses for _, losses in self._others().values())

    def lost_since(self, losses: int) -> bool:
        """Tell whether another process has lost the device since ``losses`` were counted, or may lose it in a shader that it runs now.

        Wait for the end of these shaders, but not longer than the patience lasts: what still runs then may hang.
        """
        latest = time.monotonic() + self._patience
        running = {row: changes for row, (changes, _) in self._others().items() if changes % 2}
        while running and self.losses() == losses:
            if time.monotonic() >= latest:
                return True
            self._sleep(_PAUSE)
            others = self._others()
            running = {row: changes for row, changes in running.items() if others[row][0] == changes}
        return self.losses() != losses

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _others(self) -> dict[int, tuple[int, int]]:
        """Return the rows of the other processes."""
        return {row: both for row, both in enumerate(_read(self._file)) if row != self._own}


def bury(path: Path, row: int) -> None:
    """Record for a process that has died that it runs no shaders any more. If it died in one, it lost the device."""
    file = os.open(path, os.O_RDWR)
    try:
        changes, losses = _read(file)[row]
        if changes % 2:
            _write(file, row, changes + 1, losses + 1)
    finally:
        os.close(file)


def _read(file: int) -> list[tuple[int, int]]:
    data = os.pread(file, os.fstat(file).st_size, 0)
    return list(_ROW.iter_unpack(data[: len(data) // _ROW.size * _ROW.size]))


def _write(file: int, row: int, changes: int, losses: int) -> None:
    os.pwrite(file, _ROW.pack(changes, losses), row * _ROW.size)
