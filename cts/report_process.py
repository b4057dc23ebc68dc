"""The process that makes the reports of a run: ``python -m cts.report_process DIRECTORY ROOT`` reads the journal while others write it.

A line on its standard input says that the run has ended: it is the record that meta.json will have. Then the reports are written. If the
input ends without a line, nothing is.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from cts.engine.report_writer import processes, report_writer
from cts.journal.growing import growing
from cts.journal.journal import META, RESULTS, Fault, meta_in
from cts.journal.run_record import RunRecord
from generators.casebook import open_casebook

_NICENESS = 5
"""How much the processes that judge come before this one."""

_LOOK_SECONDS = 0.5
"""How often to look for new lines of the journal."""


class _Run:
    """The run beside this process."""

    def __init__(self) -> None:
        self._line = b""

    def goes_on(self) -> bool:
        """Wait a while, and tell whether the run goes on."""
        ready, _, _ = select.select([sys.stdin], [], [], _LOOK_SECONDS)
        if ready:
            self._line = sys.stdin.buffer.readline()
            if not self._line.endswith(b"\n"):
                sys.exit("the run was ended")
        return not ready

    def record(self, directory: Path, wrong: Callable[[Fault], None]) -> RunRecord:
        """Return the record of the run once it has ended; see cts.journal.journal.read_meta."""
        return meta_in(self._line, directory / META, wrong)


def main(directory: Path, root: Path) -> None:
    """Write the reports of the run whose report directory this is, with the casebook of a checkout."""
    # An exception removes the file of a page that is half written.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    os.nice(_NICENESS)
    # Results are no garbage, and a search for garbage among them takes a fifth of the time.
    gc.disable()
    write, casebook, run = report_writer(), open_casebook(root), _Run()
    opened = partial(growing, grows=run.goes_on)
    write(directory / RESULTS, directory, casebook=casebook, processes=processes(), opened=opened, read_meta=run.record)
    # The run waits for this process, and taking down what it holds of each result takes time.
    os._exit(0)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
