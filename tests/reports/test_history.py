"""How cases ended in the runs of a folder."""

from __future__ import annotations

import json
import re

import pytest

from cts.cli import main
from cts.verdict.verdict import Verdict
from reports import write
from reports.history import HistoryError, newest_by_device, read_history
from reports.history_page import history_table

KNOWN = {"verdict": "known_fail", "code": "fail.value", "known": "drops-c"}


@pytest.fixture
def folder(example, tmp_path):
    """Return a folder of three runs whose names are not in chronological order; the last run has another driver."""
    runs = {
        "c": ("2027-03-01", {"a[x]": "pass", "a[y]": "fail", "a[old]": "fail"}, "example 1.2.3"),
        "a": ("2027-03-02", {"a[x]": "fail", "a[y]": "fail"}, "example 1.2.3"),
        "b/deep": ("2027-03-03", {"a[x]": "pass", "a[y]": KNOWN, "a[z]": "pass"}, "example 2.0"),
    }
    for name, (day, cases, driver) in runs.items():
        records = [
            example.record(id_, driver=driver, requirements=["KHR-MAD-03"], **(one if isinstance(one, dict) else {"verdict": one}))
            for id_, one in cases.items()
        ]
        example.write_journal(tmp_path / name, records, started=f"{day}T02:00:00Z", finished=f"{day}T03:00:00Z")
    return tmp_path


def test_runs_are_in_the_order_of_time(folder):
    history = read_history(folder, {})
    assert [run.name for run in history.runs] == ["c", "a", "deep"]
    assert [end and end.verdict for end in history.ends["a[x]"]] == ["pass", "fail", "pass"]
    assert [end and end.verdict for end in history.ends["a[z]"]] == [None, None, "pass"]


def test_cases_that_always_ended_alike_have_not_changed(folder):
    assert list(read_history(folder, {}).changed()) == ["a[x]", "a[y]"]


def test_a_case_that_fails_now_broke_after_its_last_good_run(example, tmp_path):
    runs = [("pass", "G"), ("fail", "G"), ("pass", "G"), ("pass", "other"), ("not_supported", "G"), ("fail", "G"), ("known_fail", "G")]
    for number, (verdict, device) in enumerate(runs):
        records = [example.record("a[x]", verdict, device=device), example.record("a[y]", "fail", device=device)]
        example.write_journal(tmp_path / f"run{number}", records, started=f"2027-03-0{number + 1}T02:00:00Z")
    history = read_history(tmp_path, {})
    assert [(one.last_good.name, one.first_bad.name) for one in history.broke("a[x]")] == [("run2", "run5")]
    assert [one.last_good for one in history.broke("a[y]")] == [None, None]


def test_a_case_is_found_under_its_present_id(folder):
    history = read_history(folder, {"a[old]": "a[z]"})
    assert [one.run.name for one in history.of("a[z]")] == ["c", "deep"]
    assert [one.end.verdict for one in history.of("a[z]")] == ["fail", "pass"]


def test_the_newest_verdict_counts_on_each_device(folder):
    assert newest_by_device(read_history(folder, {}), {"a[x]", "a[y]", "a[z]"}) == {
        ("Example GPU 9000", "example 1.2.3", "spirv"): {Verdict.FAIL: 2},
        ("Example GPU 9000", "example 2.0", "spirv"): {Verdict.KNOWN_FAIL: 1, Verdict.PASS: 2},
    }


def test_the_table_has_an_end_of_each_case_in_each_run(folder):
    table = history_table(read_history(folder, {}))
    ends = [[table["verdicts"][verdict][0], code, known] for verdict, code, known in table["ends"]]
    family, labels, strip = table["cases"][2]
    assert table["families"][family] + labels == "a[y]"
    assert [ends[end] for end in table["strips"][strip]] == [["fail", "", ""], ["fail", "", ""], ["known_fail", "fail.value", "drops-c"]]


def test_a_folder_without_runs_is_refused(tmp_path):
    with pytest.raises(HistoryError):
        read_history(tmp_path, {})


def test_the_command_marks_each_run(folder, capsys):
    assert main(["history", str(folder)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^  ✓✗✓  a\[x\]$", out, re.MULTILINE)
    assert re.search(r"^  ✗✗~  a\[y\]$", out, re.MULTILINE)
    assert "a[z]" not in out


def test_the_command_names_the_first_bad_run_and_the_last_good_one(example, tmp_path, capsys):
    for day, verdict, driver in (("2027-03-01", "pass", "example 1"), ("2027-03-02", "fail", "example 2")):
        example.write_journal(tmp_path / day, [example.record("a[x]", verdict, driver=driver)], started=f"{day}T02:00:00Z")
    assert main(["history", str(tmp_path)]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "first bad" in line)
    assert re.search(r"2027-03-02 \(example 2\b.*2027-03-01 \(example 1\b", line)


def test_the_command_shows_the_cases_that_words_name_and_says_how_many_more_there_are(folder, capsys):
    assert main(["history", str(folder), "-k", "a[", "--cases", "1"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^  ✗··  a\[old\]$", out, re.MULTILINE)
    assert "and 3 more" in out


def test_the_command_says_so_if_no_case_changed(example, tmp_path, capsys):
    for day in ("2027-03-01", "2027-03-02"):
        example.write_journal(tmp_path / day, [example.record("a[x]", "fail")], started=f"{day}T02:00:00Z")
    assert main(["history", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "no case changed: 1 case in all"


def test_the_command_writes_a_page(folder, tmp_path, capsys):
    assert main(["history", str(folder), "--html", str(tmp_path / "page.html")]) == 0
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', (tmp_path / "page.html").read_text()).group(1)
    assert len(json.loads(data)["cases"]) == 4


def test_a_report_with_a_history_shows_it_where_cases_and_requirements_are(folder):
    write(folder / "a" / "results.jsonl", folder / "a", history=folder)
    (page, _) = sorted((folder / "a" / "failures").iterdir())
    assert "How it ended in the runs of the folder" in page.read_text()
    requirement = (folder / "a" / "requirements" / "KHR-MAD-03.html").read_text()
    assert "example 1.2.3" in requirement
    assert "example 2.0" in requirement
    assert "history.html" in (folder / "a" / "index.html").read_text()


def test_a_report_without_a_history_does_not_speak_of_one(folder):
    write(folder / "a" / "results.jsonl", folder / "a")
    assert "How it ended in the runs of the folder" not in next((folder / "a" / "failures").iterdir()).read_text()
    assert not (folder / "a" / "history.html").exists()
    assert "history.html" not in (folder / "a" / "index.html").read_text()
