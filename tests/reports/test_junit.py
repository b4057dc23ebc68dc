"""JUnit XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from cts.journal.record import result_of
from reports import junit as module
from reports import read
from reports.context import context
from reports.journals import Run

ALLOWED = {
    "testsuites": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"},
    "properties": set(),
    "property": {"name", "value"},
    "testcase": {"classname", "name", "time"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"type", "message"},
    "system-out": set(),
}
"""Attributes that the xunit2 schema has."""


def document(results, **more):
    run = Run((), tuple(results))
    return ET.fromstring(module.junit(run.results, context(run), **more))


@pytest.fixture
def results(journal):
    return read(journal).results


@pytest.mark.parametrize("limit", [1, 20_000])
def test_every_element_and_attribute_is_one_of_the_schema(results, monkeypatch, limit):
    monkeypatch.setattr(module, "LISTED_CASES", limit)
    for element in document(results).iter():
        assert set(element.keys()) <= ALLOWED[element.tag]


def test_verdicts_become_the_element_that_viewers_know(example):
    verdicts = {
        "fail": "failure",
        "crash": "failure",
        "timeout": "failure",
        "device_lost": "failure",
        "error": "error",
        "resource_error": "skipped",
    }
    root = document(result_of(example.record(f"a[{verdict}]", verdict)) for verdict in verdicts)
    assert {case.get("name"): case[0].tag for case in root.iter("testcase")} == {f"a[{verdict}]": tag for verdict, tag in verdicts.items()}


@pytest.mark.parametrize("limit", [1, 20_000])
def test_counts_are_those_of_the_elements(results, monkeypatch, limit):
    monkeypatch.setattr(module, "LISTED_CASES", limit)
    root = document(results)
    for holder in (root, *root.iter("testsuite")):
        assert int(holder.get("tests")) == len(list(holder.iter("testcase")))
        assert int(holder.get("failures")) == len(list(holder.iter("failure")))
        assert int(holder.get("errors")) == len(list(holder.iter("error")))
        assert int(holder.get("skipped")) == len(list(holder.iter("skipped")))


def names(results) -> list[str]:
    return [case.get("name") for case in document(results).iter("testcase")]


def test_a_case_has_its_own_test_if_it_needs_attention_and_otherwise_counts(example):
    results = [result_of(example.record(f"a[{verdict}]", verdict)) for verdict in ("fail", "quality_warning", "pass", "not_supported")]
    assert names(results) == ["a[fail]", "a[quality_warning]", "not_supported", "pass"]


def test_names_are_the_same_however_many_cases_there_are(example):
    def night(cases: int) -> list[str]:
        passes = [result_of(example.record(f"a[{n}]")) for n in range(cases)]
        lacking = [result_of(example.record(f"a[x{n}]", "not_supported", code="missing.feature.x", reason=f"{n}")) for n in range(cases)]
        return names([*passes, *lacking, result_of(example.record("a[bad]", "fail"))])

    assert night(2) == night(300) == ["a[bad]", "not_supported missing.feature.x", "pass"]


def test_known_failures_are_named_by_their_id(example):
    records = [example.record(f"a[{n}]", "known_fail", code="wrong.values", known="EX-1") for n in range(2)]
    assert names(map(result_of, records)) == ["known_fail EX-1"]


def test_a_known_failure_has_its_code_and_its_report(known_failure):
    (skipped,) = document(read(known_failure.journal).results, issues=known_failure.issues).iter("skipped")
    assert skipped.get("message").startswith(f"fail.value: {known_failure.reason} ({known_failure.link})")


def test_a_failure_has_its_code_and_its_defects(example):
    record = example.record("a[1]", code="fail.value")
    example.fail(record, example.failure(8, 8, lambda row, column: row == 3) | {"matches": [{"id": "x.y", "text": "C"}]})
    (failure,) = document([result_of(record)]).iter("failure")
    assert failure.get("message").startswith("fail.value, x.y: ")


def test_every_case_can_have_its_own_test(example):
    records = [example.record(f"a[{n}]", verdict) for n, verdict in enumerate(("pass", "pass", "not_supported", "known_fail", "compiled"))]
    root = document(map(result_of, records), every_case=True)
    assert [case.get("name") for case in root.iter("testcase")] == [f"a[{n}]" for n in range(5)]
    assert [len(case) for case in root.iter("testcase")] == [0, 0, 1, 1, 1]


def test_failures_without_end_are_counted_by_code(example, monkeypatch):
    monkeypatch.setattr(module, "LISTED_CASES", 1)
    results = [result_of(example.record(f"a[{n}]", "fail", code="wrong.values")) for n in range(3)]
    root = document(results)
    assert [case.get("name") for case in root.iter("testcase")] == ["a[0]", "fail wrong.values"]
    assert root.findall(".//failure")[1].get("message").endswith("2 cases, for example a[1]")


def test_the_worst_file_is_one_that_gitlab_reads(example):
    reason, message = "r" * 100_000, "m" * 100_000
    record = example.record("family_of_cases[" + "label:value/" * 15 + "x:y]", "fail", code="wrong.values", reason=reason, message=message)
    results = [result_of(record)] * (module.LISTED_CASES + 5)
    run = Run((), tuple(results))
    assert len(module.junit(run.results, context(run)).encode()) < 30e6


def test_messages_of_very_many_failures_are_shortened_to_the_reason(example, monkeypatch):
    monkeypatch.setattr(module, "LONG_MESSAGES", 1)
    texts = [e.text for e in document(result_of(example.record(f"a[{n}]", "fail", message="long")) for n in range(2)).iter("failure")]
    assert texts == ["long", "because of fail"]


def test_a_failure_ends_with_the_requirements_that_its_case_exercises(example):
    results = [
        result_of(example.record("load_store[1]", "fail", message="wrong", requirements=["KHR-LOAD-03"])),
        result_of(example.record("load_store[2]", "error", message="ours", requirements=["KHR-LOAD-04", "KHR-STORE-01"])),
        result_of(example.record("load_store[3]")),
    ]
    root = document(results)
    assert root.find(".//failure").text == "wrong\ncovers KHR-LOAD-03"
    assert root.find(".//error").text == "ours\ncovers KHR-LOAD-04, KHR-STORE-01"


def test_last_words_that_are_not_xml_stay_readable(example):
    root = document([result_of(example.record("a[1]", "crash", message="died \x00\x1b[31m <&> \ud800 end"))])
    assert root.find(".//failure").text == "died \\x00\\x1b[31m <&> \\ud800 end"
