"""Files that are not what a command expects: each ends with a line that says so, and nothing of the user is lost."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

import pytest

from cts.cli import main
from cts.journal import journal
from cts.journal.journal import META, PACKED, RESULTS, JournalError, read, read_meta
from cts.printable import portable_argument, portable_name
from cts.repro.folder import README, heading, writing
from generators.bounded_files import Unreadable, read_bytes, read_text
from generators.errors import CannotWrite

CASE = "load_store[component:f16]"
OTHER = "load_store[component:f32]"


def test_a_report_of_a_journal_without_a_readable_line_ends_with_2(tmp_path: Path) -> None:
    (tmp_path / RESULTS).write_text("no\nresult\n")
    assert main(["report", str(tmp_path)]) == 2


def test_meta_that_is_a_pipe_is_left_out(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / META)
    faults: list[object] = []
    assert read_meta(tmp_path, faults.append) == {}
    assert len(faults) == 1


@pytest.mark.parametrize("name", [RESULTS, RESULTS + PACKED])
def test_a_journal_that_is_a_pipe_is_not_read(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(JournalError):
        list(read(tmp_path / name))


def test_a_journal_of_very_many_lines_without_results_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MOST_FAULTS", 100)
    path = tmp_path / (RESULTS + PACKED)
    path.write_bytes(gzip.compress(b"\n" * 1000))
    faults: list[object] = []
    with pytest.raises(JournalError):
        list(read(path, faults.append))
    assert len(faults) == 100


@pytest.mark.parametrize("content", [b"{}\n" * 1000, b"x" * 3000])
def test_a_journal_that_expands_without_end_is_not_read_to_its_end(tmp_path: Path, monkeypatch, content: bytes) -> None:
    monkeypatch.setattr(journal, "MOST_IN_ALL", 300)
    monkeypatch.setattr(journal, "MOST_BYTES", 100)
    path = tmp_path / (RESULTS + PACKED)
    path.write_bytes(gzip.compress(content))
    faults: list[object] = []
    with pytest.raises(JournalError):
        list(read(path, faults.append))
    assert len(faults) <= 101


def test_a_reproduction_overwrites_no_other_files(tmp_path: Path) -> None:
    (tmp_path / "repro.c").write_text("mine")
    with pytest.raises(CannotWrite), writing(tmp_path, CASE):
        pytest.fail("it began to write")
    assert (tmp_path / "repro.c").read_text() == "mine"


def test_a_reproduction_replaces_an_earlier_one(tmp_path: Path) -> None:
    (tmp_path / README).write_text(heading(OTHER) + "\n")
    with writing(tmp_path, CASE):
        assert (tmp_path / README).read_text() == heading(CASE) + "\n"


def test_a_reproduction_replaces_one_that_was_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    def begin(folder: Path) -> None:
        with writing(folder, CASE):
            (folder / "repro.c").write_text("int")
            (folder / "0-pattern").mkdir()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        begin(tmp_path)
    # The second one is interrupted while it removes the first.
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", interrupted)
        with pytest.raises(KeyboardInterrupt):
            begin(tmp_path)
    with writing(tmp_path, CASE):
        assert [entry.name for entry in tmp_path.iterdir()] == [README]


def test_a_reproduction_follows_no_link(tmp_path: Path) -> None:
    elsewhere, folder, link = tmp_path / "elsewhere", tmp_path / "folder", tmp_path / "link"
    elsewhere.mkdir()
    folder.mkdir()
    (elsewhere / "kept").write_text("mine")
    (folder / README).write_text(heading(CASE) + "\n")
    (folder / "0-pattern").symlink_to(elsewhere)
    (folder / "repro.c").symlink_to(elsewhere / "kept")
    with writing(folder, CASE):
        assert [entry.name for entry in folder.iterdir()] == [README]
    assert (elsewhere / "kept").read_text() == "mine"
    link.symlink_to(elsewhere)
    with pytest.raises(CannotWrite), writing(link, CASE):
        pytest.fail("it began to write")


def test_names_of_files_have_portable_characters_only() -> None:
    assert portable_name("pattern:index/wide") == "pattern_index_wide"


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("/home/somebody/cts", "cts"),
        ("--report-dir=/home/somebody/out/", "--report-dir=out"),
        ("out", "out"),
        ("load_store[component:f16]", "load_store[component:f16]"),
        ("-k=a/b", "-k=a/b"),
    ],
)
def test_an_argument_shows_no_folder_of_this_machine(argument: str, shown: str) -> None:
    assert portable_argument(argument) == shown


def test_what_drivers_print_is_no_command_of_a_workflow(monkeypatch, capsys, tmp_path: Path) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (tmp_path / RESULTS).write_text("::error::no\n")
    main(["report", str(tmp_path)])
    said = capsys.readouterr().err.splitlines()
    begin, end = said[0], said[-1]
    assert begin.startswith("::stop-commands::")
    assert end == f"::{begin.removeprefix('::stop-commands::')}::"


@pytest.mark.parametrize(("name", "why"), [("/dev/zero", "it is longer than 10 bytes"), ("/", "Is a directory")])
def test_a_named_file_without_an_end_is_read_no_further_than_its_limit(name: str, why: str) -> None:
    with pytest.raises(Unreadable) as refused:
        read_bytes(Path(name), 10)
    assert str(refused.value) == why


def test_a_list_may_come_through_a_pipe(tmp_path: Path) -> None:
    reading, writing_ = os.pipe()
    os.write(writing_, CASE.encode())
    os.close(writing_)
    try:
        assert read_text(Path(f"/dev/fd/{reading}"), 100) == CASE
    finally:
        os.close(reading)


def test_a_text_that_is_not_utf_8_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_bytes(b"\xef\xbb\xbfa\nb\xff")
    with pytest.raises(Unreadable) as refused:
        read_text(path, 100)
    assert (str(refused.value), refused.value.line) == ("it is not UTF-8", 2)


def test_no_command_reads_a_module_without_an_end() -> None:
    assert main(["run-module", "/dev/zero"]) == 2
