"""The schema of a journal's line."""

from __future__ import annotations

import json
import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cts.devices.device import DeviceDescription
from cts.journal.journal import encode
from cts.journal.record import FAILURE, MOST_BYTES, RESULT, TRY, WrongField, result_of
from cts.journal.strict_json import NotJson, parse
from cts.printable import printable
from cts.verdict.verdict import CaseResult, Try, Verdict

RECORD = {"id": "f[a]", "verdict": "pass"}

LINES = st.text(max_size=20).filter(str.isprintable)
SECONDS = st.floats(0, 1e6)
TRIES = st.builds(Try, alone=st.booleans(), verdict=st.sampled_from(Verdict), reason=LINES, step=LINES, seconds=SECONDS, code=LINES)
RESULTS = st.builds(
    CaseResult,
    id=LINES.filter(bool),
    family=LINES,
    verdict=st.sampled_from(Verdict),
    reason=st.text(max_size=20),
    device=st.text(max_size=20),
    driver=st.text(max_size=20),
    front_end=LINES,
    tier=LINES,
    requirements=st.lists(LINES).map(tuple),
    subcases=st.integers(0, 1000),
    seconds=SECONDS,
    message=st.text(),
    policy=LINES,
    steps=st.dictionaries(LINES, SECONDS, max_size=3),
    failures=st.just(({"kind": "wrong value", "count": 3, "matches": ({"id": "load_store.layout_swapped", "text": "a layout"},)},)),
    positions=st.lists(LINES).map(tuple),
    step=LINES,
    attempt=st.integers(1, 5),
    tries=st.lists(TRIES, max_size=2).map(tuple),
    code=LINES,
    parameters=st.dictionaries(LINES, LINES, max_size=3),
)


@given(RESULTS)
def test_what_the_suite_writes_it_reads_back(result):
    assert result_of(parse(encode(result.record()))) == result


def test_the_schema_names_every_field_of_a_record():
    attempt = Try(True, Verdict.PASS, "", "", 0.0)
    record = CaseResult("a", "a", Verdict.PASS, "", "", "", "", "", (), 0, 0.0, tries=(attempt,)).record()
    assert set(record) == set(RESULT)
    assert set(record["tries"][0]) == set(TRY)


def test_a_step_that_took_no_finite_time_costs_its_time_alone():
    line = encode(RECORD | {"steps": {"pipeline": math.nan, "device": 1.0}})
    assert result_of(parse(line)).steps == {"device": 1.0}


def test_a_record_may_lack_everything_but_id_and_verdict():
    assert result_of(RECORD) == CaseResult("f[a]", "f", Verdict.PASS, "", "", "", "", "", (), 0, 0.0)


def test_a_field_that_the_schema_does_not_name_is_ignored():
    assert result_of(RECORD | {"later": [[[]]]}) == result_of(RECORD)


@pytest.mark.parametrize(
    ("changes", "field", "problem"),
    [
        ({"id": 3}, "id", "expected text, found 3"),
        ({"id": ""}, "id", "expected text, found ''"),
        ({"family": ["f"]}, "family", "expected text, found a list"),
        ({"verdict": "maybe"}, "verdict", "expected a verdict, found 'maybe'"),
        ({"verdict": None}, "verdict", "expected a verdict, found null"),
        ({"seconds": "nan"}, "seconds", "expected a duration in seconds, found 'nan'"),
        ({"seconds": -1}, "seconds", "expected a duration in seconds, found -1"),
        ({"seconds": 1e300}, "seconds", "expected a duration in seconds, found 1e+300"),
        ({"seconds": True}, "seconds", "expected a duration in seconds, found true"),
        ({"subcases": 1.5}, "subcases", "expected a whole number from 0 up, found 1.5"),
        ({"subcases": 10**400}, "subcases", "expected a whole number from 0 up, found a huge number"),
        ({"attempt": 0}, "attempt", "expected a whole number from 1 up, found 0"),
        ({"requirements": "KHR"}, "requirements", "expected a list, found 'KHR'"),
        ({"requirements": ["a", {}]}, "requirements[1]", "expected text, found an object"),
        ({"steps": {"device": [1]}}, "steps.device", "expected a duration in seconds, found a list"),
        ({"parameters": ["scope"]}, "parameters", "expected an object, found a list"),
        ({"parameters": {"scope": "subgroup", "trips": 3}}, "parameters.trips", "expected text, found 3"),
        ({"failures": {}}, "failures", "expected a list, found an object"),
        ({"failures": [{"shape": [1, 0]}]}, "failures[0].shape", "expected two sizes from 1 to 65,536, found a list"),
        ({"failures": [{"shape": [65536, 65536]}]}, "failures[0].shape", "expected at most 16,777,216 elements, found 65536 rows of 65536"),
        ({"failures": [{}, {"matches": [1]}]}, "failures[1].matches[0]", "expected an object, found 1"),
        ({"tries": [{"alone": True}]}, "tries[0].verdict", "is missing"),
        ({"message": "x" * 100, "tier": ["x" * 100]}, "tier", "expected text, found a list"),
        ({"reason": {"x" * 1000: 1}}, "reason", "expected text, found an object"),
    ],
)
def test_what_does_not_fit_is_named(changes, field, problem):
    with pytest.raises(WrongField) as wrong:
        result_of(RECORD | changes)
    assert (wrong.value.field, wrong.value.problem) == (field, problem)


def test_what_explains_a_failure_in_a_journal_without_ids_is_text_alone():
    result = result_of(RECORD | {"failures": [{"matches": ["matrix a loaded transposed"]}]})
    assert result.failures[0]["matches"] == ({"id": "", "text": "matrix a loaded transposed"},)


@pytest.mark.parametrize("record", [3, None, "pass", ["f[a]", "pass"]])
def test_a_record_is_an_object(record):
    with pytest.raises(WrongField, match="expected an object"):
        result_of(record)


@pytest.mark.parametrize("missing", ["id", "verdict"])
def test_a_record_has_an_id_and_a_verdict(missing):
    with pytest.raises(WrongField, match="is missing"):
        result_of({key: value for key, value in RECORD.items() if key != missing})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*FAILURE, *TRY, "x"]), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*RESULT, "later"]), JSON))
def test_no_record_ends_in_another_error(changes):
    with suppress(WrongField):
        assert isinstance(result_of(RECORD | changes).verdict, Verdict)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b'{"a": NaN}', "NaN is no number of JSON"),
        (b'{"a": -Infinity}', "-Infinity is no number of JSON"),
        (b'{"a": 1, "a": 2}', 'the key "a" is given twice'),
        (b'{"a": \xff}', "not UTF-8 at byte 6"),
        (b"[" * 100_000, "nested too deeply"),
        (b"1" * 10_000, "a number has too many digits"),
        (b'{"a"', "no JSON: "),
        (b"", "no JSON: "),
    ],
)
def test_what_is_no_json_is_named(data, problem):
    with pytest.raises(NotJson) as wrong:
        parse(data)
    assert wrong.value.problem.startswith(problem)


def test_a_record_that_is_too_long_to_read_loses_the_bits_of_its_failures():
    failure = {"kind": "wrong value", "expected": ["00000000"] * 4096, "shape": [64, 64]}
    record = RECORD | {"verdict": "fail", "message": "m", "failures": [failure] * 500}
    line = encode(record)
    assert len(line) <= MOST_BYTES
    result = result_of(parse(line))
    assert result.message == "m"
    assert result.failures == ({"kind": "wrong value", "shape": (64, 64)},) * 500


def test_a_record_that_is_too_long_even_then_keeps_its_verdict_and_the_beginning_of_its_message():
    record = RECORD | {"verdict": "fail", "message": "m" * 2 * MOST_BYTES, "failures": [{"pattern": "p" * MOST_BYTES}]}
    result = result_of(parse(encode(record)))
    assert result.verdict is Verdict.FAIL
    assert result.message.startswith("mmm")


def test_a_driver_cannot_steer_a_terminal_by_its_name_or_its_words():
    result = CaseResult("a", "a", Verdict.FAIL, "\x1b[2J\nreason", "GPU\x07", "\udcff1.0", "", "", (), 0, 0.0, message="one\x9b\ntwo\u202e")
    assert (result.reason, result.device, result.driver) == ("\\x1b[2J\\nreason", "GPU\\x07", "\\udcff1.0")
    assert result.message == "one\\x9b\ntwo\\u202e"


@given(st.text())
def test_printable_text_is_left_alone_and_can_be_written_anywhere(text):
    shown = printable(text)
    assert printable(shown) == shown
    shown.encode("utf-8")
    assert not {character for character in shown if ord(character) < 32 or 127 <= ord(character) < 160} - {"\n", "\t"}


def test_a_journal_is_plain_json(tmp_path):
    assert json.loads(encode(RECORD)) == RECORD


def test_a_device_cannot_steer_a_terminal_by_its_name():
    description = DeviceDescription("GPU\x1b[31m\n", "1.0\x9b", "", "vulkan", "1.4\x07", 32, 64, 1, {})
    assert (description.name, description.driver, description.api_version) == ("GPU\\x1b[31m\\n", "1.0\\x9b", "1.4\\x07")
