"""Outlines agree with the results of a journal, and are read faster."""

from __future__ import annotations

import json

import pytest

from cts.journal.journal import Fault, read
from cts.journal.outline import Outline, outline_of, read_outlines
from cts.journal.published import FOLDER
from tests.suite import REPOSITORY

RECORD = {
    "id": "a[b:c]",
    "family": "a",
    "verdict": "fail",
    "reason": "1 of 2 subcases wrong",
    "code": "fail.value",
    "known": "",
    "parameters": {"b": "c"},
    "requirements": ["E-F-01"],
    "seconds": 0.5,
    "steps": {"pipeline": 0.25},
    "message": "two\nlines",
    "failures": [
        {"kind": "not written", "array": "d", "what": "D", "instance": 0, "count": 1, "total": 2, "pattern": "one"},
        {
            "kind": "wrong value",
            "array": "d",
            "what": "D",
            "instance": 0,
            "count": 1,
            "total": 2,
            "pattern": "one",
            "matches": [{"id": "muladd.c_dropped", "text": "C dropped"}, {"id": "muladd.c_dropped", "text": "again"}],
        },
    ],
}


def outlines(path, *lines: dict | str) -> tuple[list[Outline], list[Fault]]:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), encoding="utf-8")
    faults: list[Fault] = []
    return list(read_outlines(path, faults.append)), faults


def test_an_outline_names_the_defects_of_the_first_explained_array(tmp_path):
    (one,), faults = outlines(tmp_path / "results.jsonl", {"schema": 4}, RECORD)
    assert (one.defects, one.code, one.parameters, faults) == (("muladd.c_dropped",), "fail.value", {"b": "c"}, [])


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"verdict": "expected_fail"},
        {"reason": "two\nlines\x1b[31m"},
        {"driver": "\x07 1.0"},
        {"parameters": {"b": "c\n"}},
        {"requirements": ["E-F-01\n"]},
        {"failures": []},
        {"failures": [{**RECORD["failures"][0], "matches": ["words of an older schema"]}]},
        {"steps": {"pipeline": "nan", "dispatch": 1}},
        {"family": None},
        {"seconds": -1},
        {"id": ""},
        {"verdict": "fine"},
        {"attempt": 0},
    ],
)
def test_a_line_makes_the_same_outline_as_its_whole_result(tmp_path, changes):
    path = tmp_path / "results.jsonl"
    found, faults = outlines(path, {name: value for name, value in (RECORD | changes).items() if value is not None})
    whole: list[Fault] = []
    assert found == [outline_of(result) for result in read(path, whole.append)]
    assert faults == whole


def test_a_line_that_is_not_a_result_is_a_fault(tmp_path):
    found, faults = outlines(tmp_path / "results.jsonl", "{", RECORD, '{"id": 1}')
    assert [one.id for one in found] == ["a[b:c]"]
    assert [fault.line for fault in faults] == [1, 3]


@pytest.mark.parametrize("name", ["lavapipe-26.1.6-smoke", "lavapipe-26.1.6-smoke-glsl"])
def test_a_published_journal_has_the_same_outlines(name):
    path = REPOSITORY / FOLDER / name / "results.jsonl.gz"
    faults: list[Fault] = []
    assert list(read_outlines(path, faults.append)) == [outline_of(result) for result in read(path)]
    assert faults == []
