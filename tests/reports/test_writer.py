"""Writing all reports."""

from __future__ import annotations

import json
import os
import random

import pytest

from cts.journal.atomic import write_text
from reports import html, write
from reports.writer import ReportError


def contents(directory):
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_every_report_is_there_and_nothing_else(journal, tmp_path):
    write(journal, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "summary.json",
        "summary.md",
        "junit.xml",
        "index.html",
        "failures",
        "requirements",
    }


def test_the_same_results_in_another_order_give_the_same_bytes(journal, tmp_path):
    lines = journal.read_text().splitlines(keepends=True)
    random.Random(3).shuffle(lines)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "results.jsonl").write_text("".join(lines))
    (tmp_path / "run" / "meta.json").write_bytes(journal.with_name("meta.json").read_bytes())
    write(journal, tmp_path / "1")
    write(tmp_path / "run" / "results.jsonl", tmp_path / "2")
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_the_json_summary_has_the_totals_and_the_failures(journal, tmp_path):
    write(journal, tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["schema"] == 4
    boxes = [box for cause in summary["causes"] for box in cause["boxes"] if cause["defects"]]
    (condition,) = [one for one in boxes[0]["conditions"] if one["parameter"] == "storage"]
    assert condition == {"parameter": "storage", "part": "", "words": "storage:workgroup", "one_of": ["workgroup"]}
    assert {key: boxes[0][key] for key in ("family", "failing", "passing", "tentative")} == {
        "family": "load_store",
        "failing": 14,
        "passing": 0,
        "tentative": False,
    }
    assert summary["verdicts"]["fail"] == 27
    assert sum(len(cause["cases"]) for cause in summary["causes"]) == 32
    for cause in summary["causes"]:
        for case in cause["cases"]:
            assert (tmp_path / case["page"]).is_file()


def test_pages_of_failures_that_are_gone_are_removed_and_other_files_are_not(example, tmp_path):
    write(example.write_journal(tmp_path, [example.record("a[1]", "fail")]), tmp_path)
    (tmp_path / "failures" / "notes.html").write_text("mine")
    write(example.write_journal(tmp_path, [example.record("a[1]")]), tmp_path)
    assert [path.name for path in (tmp_path / "failures").iterdir()] == ["notes.html"]


def test_a_place_that_cannot_be_written_is_one_clear_line(journal, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ReportError):
        write(journal, tmp_path / "file" / "report")


def test_a_file_that_cannot_be_replaced_stays_whole_and_leaves_nothing_behind(tmp_path):
    (tmp_path / "report.html").mkdir()
    with pytest.raises(IsADirectoryError):
        write_text(tmp_path / "report.html", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_the_page_of_a_case_that_was_judged_twice_shows_the_last_result(example, tmp_path):
    first, last = example.record("a[1]", "crash", message="first words"), example.record("a[1]", "crash", message="last words")
    write(example.write_journal(tmp_path, [first, last]), tmp_path)
    (page,) = (tmp_path / "failures").iterdir()
    assert "last words" in page.read_text()
    assert "first words" not in page.read_text()


@pytest.fixture
def in_two_parts(journal, tmp_path, monkeypatch):
    """Write the report of ``journal`` with two processes, and return its directory."""
    monkeypatch.setattr("reports.writer.PAGES_OF_A_PROCESS", 1)

    def written():
        write(journal, tmp_path / "parts", processes=2)
        return tmp_path / "parts"

    return written


def test_several_processes_write_the_same_bytes_as_one(journal, tmp_path, in_two_parts):
    write(journal, tmp_path / "one")
    assert contents(in_two_parts()) == contents(tmp_path / "one")


def test_what_a_process_that_died_has_not_written_is_written_all_the_same(journal, tmp_path, monkeypatch, in_two_parts):
    write(journal, tmp_path / "one")
    here, page = os.getpid(), html.requirement_page
    monkeypatch.setattr(html, "requirement_page", lambda *given: page(*given) if os.getpid() == here else os._exit(3))
    assert contents(in_two_parts()) == contents(tmp_path / "one")


def test_a_page_that_cannot_be_written_is_named_although_another_process_writes_it(tmp_path, in_two_parts):
    (tmp_path / "parts" / "requirements" / "M1-LOAD-01.html").mkdir(parents=True)
    with pytest.raises(ReportError) as told:
        in_two_parts()
    assert "M1-LOAD-01.html" in str(told.value)
