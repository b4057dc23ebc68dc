"""A process beside a run that reads its journal as it grows, so it can write the reports at once when the run has ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from cts.journal.record import encode_object
from cts.journal.run_record import RunRecord

CASES = range(5_000, 500_000)
"""How many cases a run with such a process has: it takes two seconds of processor time to start, and holds two kilobytes of each result."""

_MODULE = "cts.report_process"

_SECONDS = 10.0
"""How long a process may take to end after SIGTERM: it removes the file that it is writing."""


class ReportsBeside:
    """The process. It ends without a report if this one ends before it has called ``begin``.

    Args:
        directory: the report directory, with the journal.
        root: the root of the checkout.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, directory: Path, root: Path) -> None:
        self._places = directory, root
        # A pipe would hold only a part of a long record, and this process would wait for the other one.
        if not hasattr(os, "memfd_create"):
            raise OSError("this system has no files without a name")
        self._file = os.fdopen(os.memfd_create("record of the run"), "wb")
        self._record = b""
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE, *self._places, str(self._file.fileno())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(os.environ, PYTHONPATH=os.pathsep.join(path or os.getcwd() for path in sys.path)),
            pass_fds=[self._file.fileno()],
            # A signal from a terminal is for the run, which ends this process.
            start_new_session=True,
        )

    @property
    def has_begun(self) -> bool:
        """Whether a process has been told to write the reports."""
        return bool(self._record)

    def begin(self, record: RunRecord) -> None:
        """Have the reports written: the journal is whole. If they were begun with another record of the run, begin again.

        Args:
            record: what meta.json has when the run has ended.
        """
        line = encode_object(record)
        if line == self._record:
            return
        try:
            if self._record:
                self.end()
                self._record = b""
                self._process = self._start()
            self._file.seek(0)
            self._file.truncate()
            self._file.write(line)
            self._file.flush()
            assert self._process.stdin is not None, "it has a pipe"
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()
        except OSError:
            # Nobody writes the reports; ``write`` says so.
            return
        self._record = line

    def write(self) -> bool:
        """Wait until the reports are written, and tell whether they were."""
        try:
            return bool(self._record) and self._process.wait() == 0
        finally:
            self.end()

    def end(self) -> None:
        """End the process, whatever it does."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._process.poll() is None:
                # To the whole group: the processes that make its pages would otherwise go on after Ctrl-C.
                with suppress(OSError):
                    os.killpg(self._process.pid, number)
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_SECONDS)
