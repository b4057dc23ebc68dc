"""Tells the processes that share a device whether one of them lost it while another judged a case.

After a lost device or a killed process, a driver may drop the work of other processes without an error. Seen on an H200: a shader of one
process hung for 5 s, and the fragments of another process's draw stored nothing.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable
from pathlib import Path

_ROW = struct.Struct("<QQQQ")
"""Process id, group + 1, turn, losses. The turn is odd while the process runs a shader."""

_PAUSE = 0.005
"""Seconds between two looks at the other processes."""

_MORE = 10.0
"""Seconds that a process may need, after the limit of a step, to end its child and to say that it lost the device."""


class Neighbours:
    """A process's view of the processes that share its device.

    Each process has a row of the file, which it alone writes. A row of zeros belongs to no process.

    Args:
        path: an existing file, the same for all processes of the run.
        own: the number of this process's row.
        group: the number of this process's group. Groups have different devices.
        sleep: waits for some seconds.
    """

    def __init__(self, path: Path, own: int, group: int = 0, sleep: Callable[[float], None] = time.sleep) -> None:
        self._file = os.open(path, os.O_RDWR)
        self._own = own
        self._group = group + 1
        self._turn = self._losses = 0
        self._sleep = sleep
        self._write()

    def runs(self, running: bool) -> None:
        """Record that this process begins to run a shader, or no longer runs one."""
        if running != bool(self._turn % 2):
            self._turn += 1
            self._write()

    def lost(self) -> None:
        """Record that this process lost the device."""
        self._losses += 1
        self._write()

    def losses(self) -> int:
        """Return how often other processes have lost the device so far. A process that died while it ran a shader lost it once more."""
        return sum(losses + (turn % 2 and not _lives(process)) for process, turn, losses in self._others().values())

    def lost_since(self, losses: int, seconds: float) -> bool:
        """Tell whether another process has lost the device since there were ``losses``, or loses it in the shader that it runs now.

        Wait until these shaders have ended.

        Args:
            losses: an earlier result of ``losses``.
            seconds: the limit of a step.
        """
        latest = time.monotonic() + seconds + _MORE
        begun = {row: turn for row, (process, turn, _) in self._others().items() if turn % 2 and _lives(process)}
        while self.losses() == losses and begun:
            if time.monotonic() > latest:
                return True
            self._sleep(_PAUSE)
            others = self._others()
            begun = {row: turn for row, turn in begun.items() if others[row][1] == turn and _lives(others[row][0])}
        return self.losses() > losses

    def close(self) -> None:
        """Give the row back."""
        os.close(self._file)

    def _others(self) -> dict[int, tuple[int, int, int]]:
        """Return process id, turn and losses of the other processes of the group, by row."""
        data = os.pread(self._file, os.fstat(self._file).st_size, 0)
        rows = enumerate(_ROW.iter_unpack(data[: len(data) // _ROW.size * _ROW.size]))
        return {row: (process, turn, losses) for row, (process, group, turn, losses) in rows if group == self._group and row != self._own}

    def _write(self) -> None:
        os.pwrite(self._file, _ROW.pack(os.getpid(), self._group, self._turn, self._losses), self._own * _ROW.size)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    try:
        state = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except OSError:
        return True
    # A zombie has died, but its parent has not yet asked how.
    return state != b"Z"
