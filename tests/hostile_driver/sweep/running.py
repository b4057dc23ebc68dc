"""Runs the suite once for each fault. The runs are forks of one process that has imported the suite, which makes them short."""

from __future__ import annotations

import gc
import importlib
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import generators.casebook
from cts.devices.spawner import own_spawner
from cts.engine.case_list import read_case_list
from cts.engine.report_writer import report_writer
from cts.journal.journal import RESULTS
from tests.hostile_driver.running import ROOT, Observed, command, environment, observed
from tests.hostile_driver.scenario import Run
from tests.hostile_driver.sweep.plan import Call, Fault, read_trace

CASES = Path(__file__).with_name("cases.txt")
LONGEST = 90.0
"""The longest time in seconds that a run may take."""

_OPTIONS = ("-p", "tests.hostile_driver.sweep.marks", "--step-timeout", "1")


@dataclass(frozen=True)
class Outcome:
    """The results of a run, and the calls that it made."""

    seen: Observed
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class _Running:
    pid: int
    descriptor: int
    folder: Path
    began: float


def selected() -> tuple[str, ...]:
    """Return the ids of the cases of the sweep."""
    return tuple(read_case_list(CASES))


def prepare(layer: Path) -> None:
    """Let this process do what every run would do again: read the casebook, and load the modules and templates of a run and its reports."""
    generators.casebook.load_casebook = cache(generators.casebook.load_casebook)
    casebook = generators.casebook.load_casebook(ROOT)
    one = _begun(layer, None, selected())
    _wait(one)
    report_writer()(one.folder / "report" / RESULTS, one.folder / "report", casebook=casebook)
    for name in ("cts.engine.setup", "cts.run.judging", "cts.run.overview", "cts.run.main_process"):
        importlib.import_module(name)


def run_one(layer: Path, fault: Fault | None = None, cases: Sequence[str] = ()) -> Outcome:
    """Return the outcome of one run, by default without a fault.

    Args:
        layer: the folder where ``build`` put the layer.
        cases: the cases; by default those of the sweep.
    """
    return _ended(_begun(layer, fault, cases or selected()))


def run_all(layer: Path, faults: Sequence[Fault], jobs: int) -> Iterator[tuple[Fault, Outcome]]:
    """Run the suite with each fault; yield the outcomes as they come.

    Args:
        layer: the folder where ``build`` put the layer.
        jobs: the number of runs at once.
    """
    waiting = list(reversed(faults))
    running: dict[int, tuple[Fault, _Running]] = {}
    gc.collect()
    gc.freeze()
    while waiting or running:
        while waiting and len(running) < jobs:
            fault = waiting.pop()
            one = _begun(layer, fault, selected())
            running[one.descriptor] = fault, one
        poll = select.poll()
        for descriptor in running:
            poll.register(descriptor, select.POLLIN)
        due = min(one.began for _, one in running.values()) + LONGEST
        ready = {descriptor for descriptor, _ in poll.poll(max(0.0, due - time.monotonic()) * 1000)}
        for descriptor, (fault, one) in list(running.items()):
            if descriptor in ready or time.monotonic() > one.began + LONGEST:
                del running[descriptor]
                yield fault, _ended(one)


def _begun(layer: Path, fault: Fault | None, cases: Sequence[str]) -> _Running:
    folder = Path(tempfile.mkdtemp(dir=layer))
    (folder / "cases.txt").write_text("\n".join(cases) + "\n", encoding="utf-8")
    run = Run("sweep", (), options=_OPTIONS, environment={"HOSTILE_SWEEP": fault.text if fault else ""})
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if not pid:
        _become(run, folder, layer)
    return _Running(pid, os.pidfd_open(pid), folder, time.monotonic())


def _become(run: Run, folder: Path, layer: Path) -> None:
    """Run pytest in this process, which is a fork, and end it."""
    status = 70
    try:
        os.setsid()
        output = os.open(folder / "output", os.O_WRONLY | os.O_CREAT)
        nowhere = os.open(os.devnull, os.O_RDONLY)
        for descriptor, source in ((0, nowhere), (1, output), (2, output)):
            os.dup2(source, descriptor)
        own_spawner.cache_clear()
        os.closerange(3, 256)
        os.environ.clear()
        os.environ.update(environment(run, folder, layer, []))
        os.chdir(ROOT)
        status = int(pytest.main(command(run, folder / "report", folder / "cases.txt")[3:]))
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _ended(one: _Running) -> Outcome:
    """Wait for a run until its time is over, and return its outcome."""
    status = _wait(one)
    trace = one.folder / "trace"
    calls = read_trace(trace.read_text(encoding="utf-8")) if trace.exists() else ()
    try:
        return Outcome(observed(one.folder, one.folder / "report", 0, (status, (one.folder / "output").read_bytes()), one.began), calls)
    finally:
        shutil.rmtree(one.folder)


def _wait(one: _Running) -> int | None:
    """Wait for a run until its time is over; return its exit code, or None if it had to be killed."""
    poll = select.poll()
    poll.register(one.descriptor, select.POLLIN)
    ended = poll.poll(max(0.0, one.began + LONGEST - time.monotonic()) * 1000)
    if not ended:
        with suppress(ProcessLookupError):
            os.killpg(one.pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(one.pid, 0)[1])
    os.close(one.descriptor)
    return status if ended else None
