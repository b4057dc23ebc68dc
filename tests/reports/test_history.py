"""How cases ended in the runs of an archive or a folder."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install '.[farm]'")

from cts.cli import main
from cts.verdict.verdict import Verdict
from reports import write
from reports.archive.adding import add
from reports.archive.engine import ArchiveError
from reports.history.document import document
from reports.history.findings import broke, flakes, growing, newest_by_device, spells
from reports.history.groups import Selection, SelectionError, read_groups
from reports.history.page import history_table
from reports.history.source import opened_source
from tests.suite import REPOSITORY

KNOWN = {"verdict": "known_fail", "code": "fail.value", "known": "drops-c"}
GPU = "Example GPU 9000"


@pytest.fixture
def folder(example, tmp_path):
    """Return a folder of three runs whose names are not in chronological order; the last run has another driver."""
    runs = {
        "c": ("2027-03-01", {"a[x]": "pass", "a[y]": "fail", "a[old]": "fail"}, "example 1.2.3"),
        "a": ("2027-03-02", {"a[x]": "fail", "a[y]": "fail"}, "example 1.2.3"),
        "b/deep": ("2027-04-03", {"a[x]": "pass", "a[y]": KNOWN, "a[z]": "pass"}, "example 2.0"),
    }
    for name, (day, cases, driver) in runs.items():
        records = [
            example.record(id_, driver=driver, requirements=["KHR-MAD-03"], **(one if isinstance(one, dict) else {"verdict": one}))
            for id_, one in cases.items()
        ]
        example.write_journal(tmp_path / name, records, started=f"{day}T02:00:00Z", finished=f"{day}T03:00:00Z")
    return tmp_path


@pytest.fixture
def nights(example, tmp_path):
    """Return a function that writes a run for each verdict of the case a[x], and returns the groups of these runs."""

    def read(verdicts, renames=(), **selection):
        for number, one in enumerate(verdicts, 1):
            verdict, changes = (one, {}) if isinstance(one, str) else one
            records = [example.record("a[x]", verdict, **changes), example.record("a[y]", "fail", **changes)]
            example.write_journal(tmp_path / f"run{number}", records, started=f"2027-03-{number:02}T02:00:00Z")
        return groups(tmp_path, dict(renames), **selection)

    return read


def groups(source, renames=None, **selection):
    with opened_source(str(source), renames or {}) as archive:
        return list(read_groups(archive, Selection(**selection)))


def verdicts(group, id_):
    return [(one.run.name, str(one.end.verdict)) for one in group.of(id_)]


def test_runs_are_in_the_order_of_time(folder):
    (group,) = groups(folder)
    assert [run.name for run in group.runs] == ["c", "a", "deep"]
    assert verdicts(group, "a[x]") == [("c", "pass"), ("a", "fail"), ("deep", "pass")]
    assert verdicts(group, "a[z]") == [("deep", "pass")]


def test_cases_that_always_ended_alike_have_not_changed(folder):
    (group,) = groups(folder)
    assert [id_ for id_, changed in zip(group.cases, group.changed, strict=True) if changed] == ["a[x]", "a[y]"]


def test_a_case_that_fails_now_broke_after_its_last_good_run(nights):
    other = {"device": "other"}
    mine, another = nights(["pass", "fail", "pass", ("pass", other), "not_supported", "fail", "known_fail"])
    assert [(one.case, one.last_good and one.last_good.name, one.first_bad.name) for one in broke(mine)] == [
        ("a[x]", "run3", "run6"),
        ("a[y]", None, "run1"),
    ]
    assert another.device == "other"


def test_devices_and_front_ends_are_apart(nights):
    found = nights(["pass", ("fail", {"front_end": "glsl"}), ("fail", {"device": "other"})])
    assert [(group.device, group.front_end, len(group.runs)) for group in found] == [
        (GPU, "glsl", 1),
        (GPU, "spirv", 1),
        ("other", "spirv", 1),
    ]


def test_a_case_that_turns_twice_with_one_driver_is_flaky(nights):
    newer = {"driver": "example 2"}
    (group,) = nights(["pass", "fail", "pass", "pass", ("fail", newer), ("fail", newer)])
    assert [(one.case, one.driver, one.bad, one.runs) for one in flakes(group)] == [("a[x]", "example 1.2.3", 1, 4)]


def test_a_case_that_is_flaky_with_two_drivers_is_one_case(nights, capsys, tmp_path):
    newer = {"driver": "example 2"}
    nights(["pass", "fail", "pass", ("pass", newer), ("fail", newer), ("pass", newer)])
    assert main(["history", str(tmp_path)]) == 0
    assert "flaky: 1 case did" in capsys.readouterr().out


def test_a_case_that_broke_once_is_not_flaky(nights):
    (group,) = nights(["pass", "pass", "fail", "fail"])
    assert flakes(group) == []


def test_a_verdict_of_flaky_makes_a_case_flaky(nights):
    (group,) = nights(["pass", "flaky"])
    assert [one.case for one in flakes(group)] == ["a[x]"]


def test_a_life_is_a_list_of_spells(nights):
    (group,) = nights(["pass", "pass", "fail", "pass"], case="a[x]")
    assert [(one.end.verdict, one.first.name, one.last.name, one.runs) for one in spells(group, 0)] == [
        ("pass", "run1", "run2", 2),
        ("fail", "run3", "run3", 1),
        ("pass", "run4", "run4", 1),
    ]


def test_a_case_grows_only_beyond_the_pace_of_all_cases(example, tmp_path):
    for day in range(1, 5):
        slow = 3 if day > 2 else 1
        records = [example.record(f"a[{name}]", seconds=slow * (5 if name == "x" and day > 2 else 1)) for name in "xyz"]
        example.write_journal(tmp_path / str(day), records, started=f"2027-03-0{day}T02:00:00Z")
    with opened_source(str(tmp_path), {}) as archive:
        (group,) = read_groups(archive, Selection())
        assert [(one.case, one.before, one.after, one.ratio) for one in growing(archive, group, "true")] == [("a[x]", 1, 15, 5)]


def test_a_case_is_found_under_its_present_id(folder):
    (group,) = groups(folder, {"a[old]": "a[z]"})
    assert verdicts(group, "a[z]") == [("c", "fail"), ("deep", "pass")]


def test_the_newest_verdict_counts_on_each_device(folder):
    assert newest_by_device(groups(folder), {"a[x]", "a[y]", "a[z]"}) == {
        (GPU, "example 1.2.3", "spirv"): {Verdict.FAIL: 2},
        (GPU, "example 2.0", "spirv"): {Verdict.KNOWN_FAIL: 1, Verdict.PASS: 2},
    }


def test_only_selected_runs_count(folder):
    assert [run.name for run in groups(folder, since="2027-03-02")[0].runs] == ["a", "deep"]
    assert [run.name for run in groups(folder, newest=1)[0].runs] == ["deep"]
    assert len(groups(folder, device="gpu 9")[0].runs) == 3
    with pytest.raises(SelectionError):
        groups(folder, device="other")


def test_notable_cases_are_those_that_changed_or_did_not_end_well(folder):
    assert groups(folder, notable=True)[0].cases == ("a[old]", "a[x]", "a[y]")


@pytest.mark.parametrize(
    ("words", "cases"), [("a[ and not x", ["a[old]", "a[y]", "a[z]"]), ("(X or old) and not nothing", ["a[old]", "a[x]"])]
)
def test_an_expression_selects_by_words_of_the_id(folder, words, cases, capsys):
    assert main(["history", str(folder), "-k", words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["groups"]
    assert [one["case"] for group in found for one in group["spells"]] == cases


def test_a_family_is_not_one_with_a_longer_name(example, tmp_path):
    example.write_journal(tmp_path / "run", [example.record(id_) for id_ in ("a[x]", "aa[x]", "a_b[x]")], started="2027-03-01")
    assert groups(tmp_path, family="a")[0].cases == ("a[x]",)


def test_the_table_has_an_end_of_each_case_in_each_run(folder):
    table = history_table(groups(folder))
    ends = [[table["verdicts"][verdict][0], code, known] for verdict, code, known in table["ends"]]
    _, family, labels, strip = table["cases"][2]
    assert table["families"][family] + labels == "a[y]"
    numbers = table["strips"][strip]
    assert [(ends[end], runs) for end, runs in zip(numbers[::2], numbers[1::2], strict=True)] == [
        (["fail", "", ""], 2),
        (["known_fail", "fail.value", "drops-c"], 1),
    ]


def test_the_document_names_the_first_bad_run_and_the_last_good_one(nights):
    found = nights(["pass", "fail"])
    (group,) = document(found, [[]], Selection())["groups"]
    named = {run["run"]: run["name"] for run in group["runs"]}
    assert [(one["case"], named.get(one["last_good"]), named[one["first_bad"]]) for one in group["bad_now"]] == [
        ("a[x]", "run1", "run2"),
        ("a[y]", None, "run1"),
    ]


def test_a_folder_without_runs_is_refused(tmp_path):
    with pytest.raises(ArchiveError):
        groups(tmp_path)


def test_an_archive_is_read_without_the_casebook_and_journals():
    names = ("cts.cli", "cts.commands.history", "reports.history.show", "reports.history.source")
    shown = f"import sys, {', '.join(names)}; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True, cwd=REPOSITORY).stdout.split()
    assert not {"generators.casebook", "cts.journal.journal", "jinja2"}.intersection(loaded)


def test_an_archive_answers_as_the_folder_does(folder, tmp_path_factory, capsys):
    archive = tmp_path_factory.mktemp("archive") / "a"
    add(sorted(folder.rglob("results.jsonl")), archive, {})
    shown = []
    for source in (folder, archive):
        assert main(["history", str(source)]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]


def test_the_command_marks_each_run(folder, capsys):
    assert main(["history", str(folder)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^ +✓✗✓  a\[x\]$", out, re.MULTILINE)
    assert re.search(r"^ +✗✗~  a\[y\]$", out, re.MULTILINE)
    assert "a[z]" not in out


def test_the_command_names_the_first_bad_run_and_the_last_good_one(example, tmp_path, capsys):
    for day, verdict, driver in (("2027-03-01", "pass", "example 1"), ("2027-03-02", "fail", "example 2")):
        example.write_journal(tmp_path / day, [example.record("a[x]", verdict, driver=driver)], started=f"{day}T02:00:00Z")
    assert main(["history", str(tmp_path)]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "first bad" in line)
    assert re.search(r"2027-03-02 \(example 2\b.*2027-03-01 \(example 1\b", line)


def test_the_command_shows_a_life(folder, capsys):
    assert main(["history", str(folder), "a[y]"]) == 0
    assert len(re.findall(r"^  [✗~] .*1 run|^  ✗ .*2 runs", capsys.readouterr().out, re.MULTILINE)) == 2


@pytest.mark.parametrize("selection", [["a[nowhere]"], ["--family", "nowhere"], ["-k", "nowhere and a"]])
def test_cases_that_no_run_judged_are_an_error(folder, selection, capsys):
    assert main(["history", str(folder), *selection]) == 2
    assert "nowhere" in capsys.readouterr().err


def test_failures_come_before_known_ones(nights, capsys, tmp_path):
    nights([KNOWN["verdict"]])
    assert main(["history", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert out.index("✗  a[y]") < out.index("~  a[x]")
    assert "2 cases do not end well now (1 known_fail, 1 fail)" in out


def test_a_time_without_runs_names_those_of_the_archive(folder, capsys):
    assert main(["history", str(folder), "--since", "2030"]) == 2
    assert "2027-04-03" in capsys.readouterr().err


def test_the_command_shows_the_cases_that_words_name_and_says_how_many_more_there_are(folder, capsys):
    assert main(["history", str(folder), "-k", "a[", "--cases", "1"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^ +✗··  a\[old\]$", out, re.MULTILINE)
    assert "and 3 more" in out


def test_the_command_says_so_if_no_case_changed(example, tmp_path, capsys):
    for day in ("2027-03-01", "2027-03-02"):
        example.write_journal(tmp_path / day, [example.record("a[x]", "fail")], started=f"{day}T02:00:00Z")
    assert main(["history", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].strip() == "no case changed: 1 case in all"


def test_the_command_writes_a_page(folder, tmp_path, capsys):
    assert main(["history", str(folder), "--html", str(tmp_path / "page.html")]) == 0
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', (tmp_path / "page.html").read_text()).group(1)
    assert len(json.loads(data)["cases"]) == 4


def test_a_report_with_a_history_shows_it_where_cases_and_requirements_are(folder):
    write(folder / "a" / "results.jsonl", folder / "a", history=str(folder))
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
