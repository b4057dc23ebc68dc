"""Signals that end a run from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from cts.exit_codes import interrupted
from cts.signals import Ended, ending

from .conftest import FIRST, SMOKE

REPORTS = ("summary.json", "summary.md", "junit.xml", "index.html")


@pytest.mark.parametrize(("number", "workers"), [(signal.SIGTERM, ()), (signal.SIGHUP, ()), (signal.SIGTERM, ("-n", "2"))])
def test_a_signal_leaves_every_report_and_what_was_judged(checkout, held, number, workers):
    process = held(*workers, processes=2 if workers else 1, by=checkout.start if number == signal.SIGTERM else checkout.fork)
    process.send_signal(number)
    printed = process.communicate()[0]
    assert process.returncode == 2, printed
    assert set(checkout.results()) == FIRST
    assert all((checkout.root / "out" / name).exists() for name in REPORTS)
    meta = json.loads((checkout.root / "out" / "meta.json").read_text(encoding="utf-8"))
    assert meta["stopped"] == printed.splitlines()[-1] == f"STOPPED after 4 of 8 cases: ended by {number.name}; continue with --resume"

    assert checkout.run("cts", *workers, "--report-dir", "out", "--resume").returncode == 0
    assert set(checkout.results()) == SMOKE
    assert not json.loads((checkout.root / "out" / "meta.json").read_text(encoding="utf-8"))["stopped"]


def test_a_signal_to_all_processes_of_a_job_blames_no_case(checkout, held):
    process = held("-n", "2", processes=2)
    workers = {int(line.split()[0]) for line in checkout.log()}
    for pid in (*workers, process.pid):
        os.kill(pid, signal.SIGTERM)
    process.communicate()
    assert set(checkout.results().values()) == {"pass"}


WAITING = """
import sys, time
from cts.signals import ending, Ended
def wait():
    # signal.pause() would miss a signal that comes just before it.
    while True:
        time.sleep(0.01)
print("ready", flush=True)
with ending():
    try:
        print("waiting", flush=True)
        wait()
    except Ended as end:
        print(end, flush=True)
        wait()
"""


def test_a_second_signal_ends_at_once():
    with subprocess.Popen([sys.executable, "-c", WAITING], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["ready\n", "waiting\n"]
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "ended by SIGTERM\n"
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=60) == -signal.SIGHUP


def test_a_signal_that_was_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ending():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_handlers_are_as_before_when_nothing_is_to_be_ended():
    before = signal.getsignal(signal.SIGTERM)
    with ending():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


def test_commands_end_as_shells_have_it():
    assert [interrupted(Ended(number)) for number in (signal.SIGHUP, signal.SIGTERM)] == [129, 143]
    assert interrupted(KeyboardInterrupt()) == 130
