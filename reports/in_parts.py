"""Does independent parts of the work in processes of their own, which have all that this process has read."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress


@contextmanager
def beside(parts: Sequence[Callable[[], object]]) -> Iterator[None]:
    """Do each part in a process of its own, while the block runs. All are done after the block.

    The processes are copies of this one, which should have no other threads. If one does not start or end well, this process does its part:
    then the part's error is raised here.
    """
    processes = [multiprocessing.get_context("fork").Process(target=_do, args=(part,), daemon=True) for part in parts]
    try:
        for process in processes:
            # The system may allow no more processes.
            with suppress(OSError):
                process.start()
        yield
    finally:
        for process in processes:
            if process.pid is not None:
                process.join()
    for process, part in zip(processes, parts, strict=True):
        if process.exitcode != 0:
            part()


def _do(part: Callable[[], object]) -> None:
    """Do a part, and end the process: nothing else that it has from its parent may happen twice."""
    # A search for garbage would write to memory that the processes share.
    gc.disable()
    try:
        part()
    except BaseException:
        os._exit(1)
    os._exit(0)
