"""Reading a journal while it is written, and the process that does that beside a run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from unittest.mock import Mock

import pytest

from cts.engine import reports_beside
from cts.engine.reports_beside import ReportsBeside
from cts.journal.growing import growing
from cts.journal.journal import JournalError, opened, read_meta, read_with_places
from reports import write
from tests.suite import REPOSITORY


def lines_of(path, *more: bytes) -> list[bytes]:
    """Return what is read of a file to which ``more`` is added whenever all of it was read."""
    left = list(more)

    def grows() -> bool:
        with path.open("ab") as file:
            file.write(left.pop(0) if left else b"")
        return bool(left)

    with growing(path, grows) as file:
        return list(iter(lambda: file.readline(100), b""))


def test_a_line_is_read_when_its_end_is_written(tmp_path):
    path = tmp_path / "journal"
    path.write_bytes(b"one\ntw")
    assert lines_of(path, b"", b"o\nth", b"", b"ree\nfour\n") == [b"one\n", b"two\n", b"three\n", b"four\n"]


def test_a_line_whose_end_nobody_writes_is_read_last(tmp_path):
    path = tmp_path / "journal"
    path.write_bytes(b"one\n")
    assert lines_of(path, b"two\nthr") == [b"one\n", b"two\n", b"thr"]


def test_a_line_that_is_too_long_is_read_in_pieces_at_once(tmp_path):
    path = tmp_path / "journal"
    path.write_bytes(b"x" * 150 + b"\n")
    assert lines_of(path) == [b"x" * 100, b"x" * 50 + b"\n"]


def test_a_growing_journal_has_the_results_and_places_of_a_whole_one(journal, tmp_path):
    data, faults = journal.read_bytes() + b'{"id":', []
    path = tmp_path / "results.jsonl"
    path.write_bytes(data[:1000])
    left = [data[1000:1500], data[1500:]]

    def grows() -> bool:
        with path.open("ab") as file:
            file.write(left.pop(0))
        return bool(left)

    found = list(read_with_places(path, faults.append, lambda one: growing(one, grows)))
    again: list[object] = []
    assert found == list(read_with_places(path, again.append, opened))
    assert faults == again != []


@pytest.mark.parametrize("open_", [opened, lambda path: growing(path, lambda: False)])
def test_a_pipe_is_no_journal(tmp_path, open_):
    os.mkfifo(tmp_path / "results.jsonl")
    with pytest.raises(JournalError):
        list(read_with_places(tmp_path / "results.jsonl", lambda _: None, open_))


def contents(directory):
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_the_process_beside_a_run_writes_the_reports_of_its_whole_journal(journal, tmp_path):
    data = journal.read_bytes()
    beside, after = tmp_path / "beside", tmp_path / "after"
    beside.mkdir()
    path = beside / "results.jsonl"
    path.write_bytes(data[:1000])
    process = ReportsBeside(beside, REPOSITORY)
    with path.open("ab") as file:
        file.write(data[1000:])
    process.begin(read_meta(journal.parent))
    assert process.write()
    after.mkdir()
    for name in ("results.jsonl", "meta.json"):
        (after / name).write_bytes(journal.with_name(name).read_bytes())
    write(after / "results.jsonl", after)
    (after / "meta.json").unlink()
    assert contents(beside) == contents(after)


def test_a_process_beside_a_run_that_cannot_write_says_so(tmp_path):
    process = ReportsBeside(tmp_path / "nowhere", REPOSITORY)
    process.begin({})
    assert not process.write()


def test_a_process_beside_a_run_that_was_killed_writes_nothing(journal, tmp_path):
    (tmp_path / "results.jsonl").write_bytes(journal.read_bytes())
    command = [sys.executable, "-m", "cts.report_process", tmp_path, REPOSITORY, "0"]
    done = subprocess.run(command, input=b"", cwd=REPOSITORY, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["results.jsonl"]


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Return a function that has other code run in place of the process beside a run."""

    def use(code: str) -> None:
        (tmp_path / "standing_in.py").write_text(code, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr(reports_beside, "_MODULE", "standing_in")

    return use


def test_ctrl_c_ends_the_processes_that_make_pages(tmp_path, monkeypatch, stand_in):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    waits = f"with open({str(pipe)!r}, 'w') as file:\n    time.sleep(10)\n    file.write('alive')\n"
    forks = f"import os, time\nif os.fork():\n    time.sleep(30)\n{waits}"
    stand_in(forks)
    process = ReportsBeside(tmp_path, REPOSITORY)
    with pipe.open(encoding="utf-8") as file:
        monkeypatch.setattr(subprocess.Popen, "wait", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            process.write()
        assert file.read() == ""


def test_a_process_that_does_not_end_is_killed(tmp_path, monkeypatch, stand_in):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    stays = f"import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nopen({str(pipe)!r}, 'w').close()\ntime.sleep(60)\n"
    stand_in(stays)
    monkeypatch.setattr(reports_beside, "_SECONDS", 0.1)
    process = ReportsBeside(tmp_path, REPOSITORY)
    first = process._process
    process.begin({"seconds": 1.0})
    pipe.open().close()
    process.begin({"seconds": 2.0})
    assert first.returncode == -signal.SIGKILL
    process.end()


def test_a_long_record_does_not_wait_for_the_process(tmp_path, stand_in):
    stand_in("import time\ntime.sleep(60)\n")
    process = ReportsBeside(tmp_path, REPOSITORY)
    process.begin({"command": "x" * (1 << 20)})
    assert process._process.poll() is None
    process.end()


def test_reports_that_cannot_be_begun_again_are_not_written(tmp_path, monkeypatch, stand_in):
    stand_in("input()\n")
    process = ReportsBeside(tmp_path, REPOSITORY)
    process.begin({"seconds": 1.0})
    assert process._process.wait() == 0
    monkeypatch.setattr(subprocess, "Popen", Mock(side_effect=OSError))
    process.begin({"seconds": 2.0})
    assert not process.write()
