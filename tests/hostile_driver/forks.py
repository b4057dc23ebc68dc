"""Runs of the suite in forks of this process, which has loaded what every run needs: that makes runs short."""

from __future__ import annotations

import gc
import importlib
import os
import select
import signal
import sys
import time
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

import pytest

from cts.checkout import find_root
from cts.devices.spawner import own_spawner
from cts.engine.report_writer import report_writer
from cts.engine.setup import casebook_of
from cts.journal.journal import RESULTS
from generators.casebook import load_families
from reports.page_template import compile_templates

ROOT = find_root(Path(__file__))

JOBS = 3
"""How many runs go on at once: one more than most test machines have cores, because a driver that hangs uses none."""

_MOST_OUTPUT = 1 << 22

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Fork:
    """A run that has begun.

    Attributes:
        pid: its process, which leads a session.
        descriptor: becomes readable when the process ends.
        folder: gets the file ``output``.
        began, due: when it began, and when it is killed, by time.monotonic.
    """

    pid: int
    descriptor: int
    folder: Path
    began: float
    due: float


Task = Generator[Fork, None, _Result]
"""Begins runs and yields them, one at a time. It goes on when the run that it has yielded has ended or is overdue."""


def load() -> None:
    """Load the casebook, the modules of a run, and the templates of its reports."""
    load_families(casebook_of(ROOT))
    compile_templates()
    for name in ("cts.run.judging", "cts.run.overview", "cts.run.main_process", "pdb"):
        importlib.import_module(name)


def load_reports(report: Path) -> None:
    """Load what reports need, by writing the reports of a run again."""
    report_writer()(report / RESULTS, report, casebook=casebook_of(ROOT))


def begun(arguments: Sequence[str], environment: Mapping[str, str], folder: Path, seconds: float) -> Fork:
    """Begin a run of pytest.

    Args:
        environment: all of its environment variables.
        folder: for its output.
        seconds: the longest time that it may take.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if not pid:
        _become(arguments, environment, folder)
    now = time.monotonic()
    return Fork(pid, os.pidfd_open(pid), folder, now, now + seconds)


def _become(arguments: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
    """Run pytest in this process, which is a fork, and end it."""
    status = 70
    try:
        os.setsid()
        output = os.open(folder / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        nowhere = os.open(os.devnull, os.O_RDONLY)
        for descriptor, source in ((0, nowhere), (1, output), (2, output)):
            os.dup2(source, descriptor)
        own_spawner.cache_clear()
        os.closerange(3, 256)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(ROOT)
        status = int(pytest.main(list(arguments)))
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def ended(one: Fork) -> tuple[int | None, bytes]:
    """Wait for a run until it is overdue. Return its exit code, or None if it had to be killed, and its output."""
    if not _ready([one], one.due):
        with suppress(ProcessLookupError):
            os.killpg(one.pid, signal.SIGKILL)
        os.waitpid(one.pid, 0)
        status = None
    else:
        status = os.waitstatus_to_exitcode(os.waitpid(one.pid, 0)[1])
    os.close(one.descriptor)
    with (one.folder / "output").open("rb") as output:
        return status, output.read(_MOST_OUTPUT)


def side_by_side(tasks: Iterable[Task[_Result]], jobs: int) -> Iterator[_Result]:
    """Yield the results of tasks as they come; ``jobs`` of them run at once."""
    gc.collect()
    gc.freeze()
    waiting, running = iter(tasks), dict[Fork, Task[_Result]]()
    while True:
        running |= {next(task): task for task in islice(waiting, jobs - len(running))}
        if not running:
            return
        for one in _ready(running, min(one.due for one in running)):
            task = running.pop(one)
            try:
                running[next(task)] = task
            except StopIteration as end:
                yield end.value


def _ready(forks: Collection[Fork], due: float) -> list[Fork]:
    """Wait until some of the forks have ended, or are overdue at ``due``; return these."""
    poll = select.poll()
    for one in forks:
        poll.register(one.descriptor, select.POLLIN)
    found = {descriptor for descriptor, _ in poll.poll(max(0.0, due - time.monotonic()) * 1000)}
    return [one for one in forks if one.descriptor in found or (not found and one.due <= due)]
