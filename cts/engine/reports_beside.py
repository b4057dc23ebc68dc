"""A process beside a run that reads its journal as it grows, so it can write the reports at once when the run has ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

CASES = range(5_000, 500_000)
"""How many cases a run with such a process has: it takes two seconds of processor time to start, and holds two kilobytes of each result."""

_MODULE = "cts.report_process"


class ReportsBeside:
    """The process. It ends without a report if this one ends before it has called ``begin`` or ``write``.

    Args:
        directory: the report directory, with the journal.
        root: the root of the checkout.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, directory: Path, root: Path) -> None:
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE, directory, root],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(os.environ, PYTHONPATH=paths),
            # A signal from a terminal is for the run, which ends this process.
            start_new_session=True,
        )
        self._has_begun = False

    def begin(self) -> None:
        """Have the reports written: the journal and meta.json are whole."""
        self._has_begun = True
        assert self._process.stdin is not None, "it has a pipe"
        # If it has died, its exit code tells.
        with suppress(OSError):
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()

    def write(self) -> bool:
        """Wait until the reports are written, and tell whether they were."""
        if not self._has_begun:
            self.begin()
        try:
            return self._process.wait() == 0
        finally:
            self._interrupt()

    def end(self) -> None:
        """End the process, whatever it does: the reports that it writes are not wanted."""
        self._interrupt()
        self._process.wait()

    def _interrupt(self) -> None:
        if self._process.poll() is None:
            # To the whole group: the processes that make its pages would otherwise go on after Ctrl-C.
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGTERM)
