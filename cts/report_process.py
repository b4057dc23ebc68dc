"""The process that makes the reports of a run, ``python -m cts.report_process DIRECTORY ROOT FILE``: it reads the journal while others
write it.

A line on its standard input says that the run has ended, and that the file with the descriptor FILE has the record that meta.json will
have: then it writes the reports. If the input ends without a line, it writes nothing.
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
from cts.journal.record import MOST_BYTES
from cts.journal.run_record import RunRecord
from generators.casebook import open_casebook

_NICENESS = 5
"""How much the processes that judge come before this one."""

_LOOK_SECONDS = 0.5
"""How often to look for new lines of the journal."""


class _Run:
    """The run beside this process.

    Args:
        file: the descriptor of the file that gets the run's record.
    """

    def __init__(self, file: int) -> None:
        self._file = file

    def goes_on(self) -> bool:
        """Wait a while, and tell whether the run goes on."""
        ready, _, _ = select.select([0], [], [], _LOOK_SECONDS)
        if ready and not os.read(0, 1):
            sys.exit("the run was ended")
        return not ready

    def record(self, directory: Path, wrong: Callable[[Fault], None]) -> RunRecord:
        """Return the record of the run once it has ended; see cts.journal.journal.read_meta."""
        return meta_in(os.pread(self._file, MOST_BYTES, 0), directory / META, wrong)


def main(directory: Path, root: Path, file: int) -> None:
    """Write the reports of the run whose report directory this is, with the casebook of a checkout."""
    # An exception removes the file of a page that is half written.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    os.nice(_NICENESS)
    # Results are no garbage, and a search for garbage among them takes a fifth of the time.
    gc.disable()
    write, casebook, run = report_writer(), open_casebook(root), _Run(file)
    opened = partial(growing, grows=run.goes_on)
    write(directory / RESULTS, directory, casebook=casebook, processes=processes(), opened=opened, read_meta=run.record)
    # The run waits for this process, and taking down what it holds of each result takes time.
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
