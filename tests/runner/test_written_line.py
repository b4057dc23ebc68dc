"""The fast reader of a journal's lines agrees with the complete one, or leaves a line to it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cts.journal.record import SEVERAL_LINES, encode, result_of
from cts.journal.strict_json import parse
from cts.journal.written_line import written_result
from cts.verdict.verdict import CaseResult, Try, Verdict

RESULT = CaseResult(
    Verdict.PASS,
    module="9fb70dce4f",
    id="f[a:b]",
    family="f",
    parameters={"a": "b", "c": "d"},
    requirements=("R-1", "R-2"),
    steps={"emit": 1e-05, "device": 0.5},
    seconds=0.75,
)
LINE = encode(RESULT)


def complete(line: bytes) -> CaseResult:
    return result_of(parse(line, SEVERAL_LINES))


def test_a_pass_is_read_at_once():
    assert written_result(LINE) == RESULT


TEXTS = st.text(st.characters(categories=("L", "N", "P", "S"), include_characters=" \t\x7f:{}[],"), max_size=8)


@given(
    st.builds(
        CaseResult,
        verdict=st.sampled_from(Verdict),
        id=TEXTS,
        family=TEXTS,
        reason=TEXTS,
        code=TEXTS,
        parameters=st.dictionaries(TEXTS, TEXTS, max_size=3),
        requirements=st.lists(TEXTS, max_size=2).map(tuple),
        steps=st.dictionaries(TEXTS, st.floats(0, 1e9), max_size=2),
        seconds=st.floats(0, 1e9),
    )
)
def test_any_result_that_is_read_at_once_is_what_the_complete_reader_finds(result):
    line = encode(result)
    found = written_result(line)
    assert found is None or found == complete(line)


@pytest.mark.parametrize(
    "line",
    [
        LINE.replace(b'{"a":"b",', b'{"a":"b","a":"b",'),
        LINE.replace(b'{"a":"b",', b'{"a":"b","a" :"x",'),
        LINE.replace(b'"unit":""', b'"id":"f[a:b]"'),
        LINE.replace(b'"unit":"",', b'"unit":"","unit":"",'),
        LINE.replace(b'"message":""', b'"message":"\\u001b[31m"'),
        LINE.replace(b'"message":""', b'"message":"\x7f"'),
        LINE.replace(b'"message":""', '"message":"é"'.encode()),
        LINE.replace(b'"pass"', b'"expected_fail"'),
        LINE.replace(b'"emit":1e-05', b'"emit":"nan"'),
        LINE.replace(b"0.75", b"-1"),
        LINE.replace(b'"f[a:b]"', b'""'),
        LINE.removesuffix(b"}\n") + b',"new":1}\n',
        LINE.removesuffix(b"\n"),
        LINE + LINE,
        b'{"schema":5}\n',
        encode(CaseResult(Verdict.FLAKY, id="f[a]", family="f", tries=(Try(True, Verdict.FAIL, "", "", 0.5),))),
        (json.dumps({"id": "f[a:b]", "verdict": "pass"}) + "\n").encode(),
    ],
)
def test_other_lines_are_left_to_the_complete_reader(line):
    assert line != LINE
    assert written_result(line) is None
