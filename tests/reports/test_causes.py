"""Grouping failures by cause."""

from __future__ import annotations

from cts.verdict import Verdict
from reports import read
from reports.causes import causes
from reports.journals import result_of


def test_cases_that_one_defect_explains_are_one_cause_with_their_common_labels(journal):
    (first, *_) = causes(read(journal).results)
    assert first.words == "matrix a loaded row major instead of column major"
    assert (first.verdict, first.family, len(first.results)) == (Verdict.FAIL, "load_store", 14)
    assert first.labels == ("column_major", "workgroup")
    with_labels = [r for r in read(journal).results if "-column_major-workgroup-" in r.id and r.family == "load_store"]
    assert first.with_labels == sum(result.verdict is not Verdict.NOT_SUPPORTED for result in with_labels)


def test_passes_and_not_supported_have_no_cause(example):
    assert causes([result_of(example.record("a[1]")), result_of(example.record("a[2]", "not_supported"))]) == []


def test_reasons_that_differ_in_numbers_alone_are_one_cause(example):
    records = [example.record(f"a[{n}]", "timeout", reason=f"no answer within {n} s") for n in (10, 20)]
    (cause,) = causes([result_of(record) for record in records])
    assert cause.words == "no answer within N s"


def test_numbers_that_agree_are_kept(example):
    records = [example.record(f"a[{n}]", "timeout", reason="no answer within 60 s in step f16") for n in (10, 20)]
    (cause,) = causes([result_of(record) for record in records])
    assert cause.words == "no answer within 60 s in step f16"


def test_bytes_are_one_cause_wherever_they_are(example):
    records = [example.record(f"a[{n}]", "fail", failures=[example.overwritten() | {"pattern": f"at byte {n}"}]) for n in range(2)]
    (cause,) = causes([result_of(record) for record in records])
    assert cause.words == "padding overwritten: bytes that no store may touch"


def test_labels_that_every_case_has_say_nothing(example):
    records = [example.record(f"a[f16-{n}]", "crash") for n in range(3)]
    (cause,) = causes([result_of(record) for record in records])
    assert cause.labels == ()
