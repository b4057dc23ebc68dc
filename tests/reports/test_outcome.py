"""The other facts about a run in every report: the reason for stopping, the fallback device, the errors, and unreadable lines."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from cts.journal.record import failure_of
from reports import read, summarise, write
from reports.context import context, headline
from reports.picture import failing_array

ENDED = {"started": "2027-03-01T12:00:00Z", "finished": "2027-03-01T12:01:00Z"}
FALLBACK = "No Vulkan driver: the embedded device was judged instead."
MODELLED = "RADV CHIP, Mesa 1, executed by a model of RDNA4: nothing about the chip"


@pytest.fixture
def written(example, tmp_path):
    def make(*records: object, raw: str = "", **meta: object) -> dict[str, str]:
        path = example.write_journal(tmp_path, records or [example.record("a[1]")], **(ENDED | meta))
        path.write_text(path.read_text() + raw)
        write(path, tmp_path)
        read = {name: (tmp_path / name).read_text() for name in ("summary.json", "summary.md", "junit.xml", "index.html")}
        return read | {"pages": "".join(page.read_text() for page in (tmp_path / "failures").glob("*.html"))}

    return make


def properties(junit: str) -> dict[str, str]:
    return {each.get("name", ""): each.get("value", "") for each in ET.fromstring(junit).iter("property")}


def test_a_run_on_the_fallback_device_says_so_first(written):
    reports = written(fallback=FALLBACK)
    summary = json.loads(reports["summary.json"])
    assert summary["fallback"] == FALLBACK
    assert summary["headline"]["level"] == "unsure"
    assert summary["headline"]["title"].endswith("(no Vulkan device was judged)")
    assert reports["summary.md"].startswith(f"> **{FALLBACK}**\n")
    assert properties(reports["junit.xml"])["fallback"] == FALLBACK
    assert reports["index.html"].index(FALLBACK) < reports["index.html"].index("<h1>")


def test_a_run_on_a_model_of_a_chip_says_so_wherever_it_is_introduced(written, example):
    reports = written(example.record("a[1]", "fail"), example.record("b[1]"), modelled=MODELLED)
    summary = json.loads(reports["summary.json"])
    assert summary["context"]["modelled"] == MODELLED
    assert summary["headline"]["title"].endswith("(on a model of the chip)")
    assert properties(reports["junit.xml"])["modelled"] == MODELLED
    assert all(MODELLED in reports[name] for name in ("summary.md", "index.html", "pages"))


def test_a_run_in_which_nothing_ran_never_says_that_it_passed(written, example):
    reports = written(example.record("a[1]", "compiled"), example.record("b[1]", "compiled"))
    found = json.loads(reports["summary.json"])["headline"]
    assert (found["level"], found["title"]) == ("unsure", "0 cases passed, 2 cases compiled and nothing failed (no shader ran)")
    cases = ET.fromstring(reports["junit.xml"]).iter("testcase")
    assert [(case.get("name"), case[0].tag) for case in cases] == [("compiled", "skipped")] * 2


def test_a_run_on_its_own_device_does_not_mention_a_fallback(written):
    reports = written()
    assert json.loads(reports["summary.json"])["fallback"] == ""
    assert "fallback" not in properties(reports["junit.xml"])


def test_a_run_that_stopped_says_why(written):
    reports = written(stopped="ended by SIGTERM")
    assert json.loads(reports["summary.json"])["stopped"] == "ended by SIGTERM"
    assert properties(reports["junit.xml"])["stopped"] == "ended by SIGTERM"
    for name in ("summary.md", "index.html"):
        assert "The run stopped early: ended by SIGTERM." in reports[name]


def test_findings_outside_of_cases_are_listed(written):
    reports = written(findings=[{"step": "close", "what": "the driver crashed: SIGSEGV"}])
    assert json.loads(reports["summary.json"])["findings"] == [{"step": "close", "what": "the driver crashed: SIGSEGV"}]
    for text in (reports["summary.md"], reports["index.html"], properties(reports["junit.xml"])["findings"]):
        assert "close: the driver crashed: SIGSEGV" in text
    assert json.loads(reports["summary.json"])["headline"]["level"] == "unsure"


def test_lines_that_cannot_be_read_are_counted_and_named(written):
    reports = written(raw='{"id":"a[2]","verdict":"pass","seconds":NaN}\n')
    said = "results.jsonl:2: NaN is not a JSON number"
    summary = json.loads(reports["summary.json"])
    assert summary["dropped"]["lines"] == 1
    assert summary["dropped"]["first"] == [{"path": "results.jsonl", "line": 2, "field": "", "problem": "NaN is not a JSON number"}]
    assert summary["headline"]["level"] == "unsure"
    assert properties(reports["junit.xml"])["lines_dropped"] == "1"
    assert said in reports["index.html"]
    assert said in reports["summary.md"].replace("\\", "")


def test_the_numbers_are_apart_even_if_they_are_0(written, example):
    records = [
        example.record("a[1]", "timeout", step="pipeline"),
        example.record("a[2]", "timeout", step="dispatch"),
        example.record("a[3]", "resource_error"),
        example.record("a[4]", "flaky"),
        example.record("a[5]", "known_fail", known="wide-strides", code="crash.pipeline", reason="64-bit strides crash the compiler"),
        example.record("a[6]", "known_fail", known="wide-strides", code="crash.pipeline", reason="64-bit strides crash the compiler"),
        example.record("a[7]", "unexpected_pass", known="wide-strides", code="unexpected_pass"),
        example.record("a[8]", "quality_warning", code="quality_warning.F-KHR-25", message="subcase first:\n  permitted"),
    ]
    reports = written(*records)
    assert json.loads(reports["summary.json"])["headline"]["numbers"] == {
        "fail": 0,
        "crash": 0,
        "device_lost": 0,
        "timeout": 1,
        "flaky": 1,
        "quality_warning": 1,
        "unexpected_pass": 1,
        "known_fail": 2,
        "resource_error": 1,
        "error": 0,
        "timeout_compiling": 1,
    }
    assert "Out of memory: **1**" in reports["summary.md"]
    assert "Timeout while compiling: **1**" in reports["summary.md"]
    assert properties(reports["junit.xml"])["cases_timeout_compiling"] == "1"
    for name in ("summary.md", "index.html"):
        assert "64-bit strides crash the compiler" in reports[name]
    assert json.loads(reports["summary.json"])["known"] == [
        {"id": "wide-strides", "reason": "64-bit strides crash the compiler", "cases": 2}
    ]
    elements = {case.get("name"): case[0] for case in ET.fromstring(reports["junit.xml"]).iter("testcase") if len(case)}
    assert elements["a[7]"].tag == "failure"
    assert elements["a[8]"].tag == "system-out"
    assert elements["a[8]"].text == "quality_warning: quality_warning.F-KHR-25: because of quality_warning\nsubcase first:\n  permitted"
    assert properties(reports["junit.xml"])["cases_quality_warning"] == "1"
    assert "Quality warning: **1**" in reports["summary.md"]
    assert elements["known_fail wide-strides"].tag == "skipped"


@pytest.mark.parametrize(("verdict", "level"), [("known_fail", "good"), ("quality_warning", "good"), ("unexpected_pass", "unsure")])
def test_a_known_failure_is_not_bad_news_and_an_unexpected_pass_is_not_certain(example, tmp_path, verdict, level):
    run = read(example.write_journal(tmp_path, [example.record("a[1]"), example.record("a[2]", verdict)], **ENDED))
    assert headline(summarise(run.results), context(run)).level == level


@pytest.mark.parametrize("record", [{"verdict": "timeout", "step": "pipeline"}, {"verdict": "resource_error"}])
def test_a_result_that_breaks_no_rule_is_neither_failure_nor_success(example, tmp_path, record):
    run = read(example.write_journal(tmp_path, [example.record("a[1]"), example.record("a[2]") | record], **ENDED))
    assert headline(summarise(run.results), context(run)).level == "unsure"


def test_the_page_of_a_case_tells_what_happened_each_time(example, tmp_path):
    tries = [
        {"alone": False, "verdict": "crash", "reason": "SIGSEGV", "step": "pipeline", "seconds": 1.0},
        {"alone": True, "verdict": "pass", "reason": "", "step": "", "seconds": 0.5},
    ]
    write(example.write_journal(tmp_path, [example.record("a[1]", "flaky", tries=tries)]), tmp_path)
    (page,) = (tmp_path / "failures").iterdir()
    text = page.read_text()
    for words in ("What happened each time", "other processes", "nothing: alone", "SIGSEGV", "<td>pipeline</td>"):
        assert words in text


def test_each_attempt_has_a_page(example, tmp_path):
    write(example.write_journal(tmp_path, [example.record("a[1]", "fail", attempt=number) for number in (1, 2)]), tmp_path)
    assert len(list((tmp_path / "failures").iterdir())) == 2


def test_nothing_of_a_driver_can_steer_a_terminal_or_break_a_report(written, example):
    odd = "\x1b]0;owned\x07\x9b31m\ud800\u202e"
    records = [
        example.record(f"a[{verdict}]", verdict, reason=odd, device=odd, driver=odd, message=odd) for verdict in ("fail", "not_supported")
    ]
    for text in written(*records, device={"name": odd, "driver": odd}, stopped=odd, fallback=odd).values():
        assert not set(text) & set(odd) - set("]0;owned31m")


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": None},
        {"shape": [1, 0]},
        {"shape": [4, 10**4]},
        {"shape": [65536, 65536]},
        {"instances": {"1": ["zz"]}},
        {"instances": {"x": []}},
        {"instances": ["1"]},
        {"instances": {"1": ["ffffff"] * 8}},
        {"elements": 3},
        {"elements": [3]},
        {"expected": [3]},
        {"component": "f17"},
        {"component": "e4m3"},
        {"tensor": 3},
        {"tensor": {"shape": [8, 8]}},
    ],
)
def test_elements_that_make_no_sense_cost_only_their_picture(example, changes):
    array = failing_array(failure_of(example.failure(8, 8, lambda row, column: True) | changes))
    assert array.mismatch.kind == "wrong value"
    assert array.failure.unreadable
    assert not array.pictures
