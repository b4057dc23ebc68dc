"""The schema of a journal's line."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from dataclasses import fields, replace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cts.cli import main
from cts.devices.device import DeviceDescription
from cts.journal.journal import read
from cts.journal.json_schema import records
from cts.journal.published import FOLDER
from cts.journal.record import MOST_WRITTEN, SCHEMA, SEVERAL_LINES, encode, encode_object, failure_of, failure_record, result_of
from cts.journal.run_record import RunRecord
from cts.journal.schema import WrongField
from cts.journal.strict_json import NotJson, parse
from cts.printable import printable
from cts.verdict.failure import Bounds, EnvelopeBounds, FailingMatrix, Failure, Match, Mismatch, WrongElement
from cts.verdict.machine import MachineLine, MachineWalk
from cts.verdict.tensor_map import NOWHERE, TensorMap
from cts.verdict.verdict import CaseResult, Try, Verdict
from generators.types import COMPONENT_TYPES
from tests.suite import REPOSITORY

RECORD = {"id": "f[a]", "verdict": "pass"}
BARE = {"kind": "wrong value", "array": "d_out", "what": "d", "instance": 0, "count": 1, "total": 2, "pattern": "one element"}

LINES = st.text(st.characters(categories=("L", "M", "N", "P", "S"), include_characters=" "), max_size=20)
SECONDS = st.floats(0, 1e6)
TRIES = st.builds(Try, alone=st.booleans(), verdict=st.sampled_from(Verdict), reason=LINES, step=LINES, seconds=SECONDS, code=LINES)


NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(["nan", "inf", "-inf"])
ENDS = st.floats(allow_nan=False)
BOUNDS = st.none() | st.builds(Bounds, ENDS, ENDS, ENDS) | st.builds(EnvelopeBounds, ENDS, ENDS, ENDS, ENDS, ENDS)


@st.composite
def failures(draw: st.DrawFn) -> Failure:
    """Draw a failure of bytes, or of a matrix of 2 by 3 elements, with or without a tensor."""
    name = draw(st.sampled_from(sorted(COMPONENT_TYPES)))
    digits = COMPONENT_TYPES[name].bits // 4
    bits = st.integers(0, 16**digits - 1) | st.just(16**digits - 1)
    mismatch = draw(
        st.builds(Mismatch, st.just("wrong value"), LINES, LINES, *[st.integers(0, 9)] * 3, LINES, grounds=LINES, position=LINES)
    )
    matches = draw(st.lists(st.builds(Match, LINES, LINES), max_size=2))
    failure = Failure(draw(LINES), mismatch, tuple(matches))
    if draw(st.booleans()):
        return failure
    element = st.builds(
        WrongElement, *[st.integers(0, 9)] * 4, st.just(name), bits, NUMBERS, bits, NUMBERS, st.lists(bits, max_size=2).map(tuple), BOUNDS
    )
    masks = st.tuples(*[st.integers(0, 7).map("{:x}".format)] * 2)
    sides = st.lists(bits.map(f"{{:0{digits}x}}".format), max_size=6).map(tuple)
    matrix = draw(
        st.builds(
            FailingMatrix, st.just((2, 3)), st.just(name), masks, sides, sides, st.dictionaries(st.integers(0, 9), masks), st.integers(1, 9)
        )
    )
    mismatch = replace(mismatch, elements=tuple(draw(st.lists(element, max_size=2))), matrix=matrix)
    places = (0, 1, 2, NOWHERE, 4, 5)
    tensor = TensorMap("load", draw(LINES), draw(LINES), 0, (2, 3), (4, 3), (1, 1), (2, 3), (1, 1), "CONSTANT", places, places)
    return replace(failure, mismatch=mismatch, tensor=draw(st.sampled_from([None, tensor])))


FAILURES = failures()
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
    failures=st.lists(FAILURES, max_size=2).map(tuple),
    positions=st.lists(LINES).map(tuple),
    step=LINES,
    attempt=st.integers(1, 5),
    tries=st.lists(TRIES, max_size=2).map(tuple),
    code=LINES,
    parameters=st.dictionaries(LINES, LINES, max_size=3),
    driver_messages=st.lists(st.text(), max_size=2).map(tuple),
    statistics=st.dictionaries(LINES, st.dictionaries(LINES, st.booleans() | st.integers(0, 1 << 53) | SECONDS), max_size=2),
)


@given(RESULTS)
@settings(max_examples=50)
def test_the_suite_reads_back_its_own_results(result):
    read = result_of(parse(encode(result), SEVERAL_LINES))
    assert read == result
    # Comparisons ignore FailingMatrix.
    assert [failure.mismatch.matrix for failure in read.failures] == [failure.mismatch.matrix for failure in result.failures]


@pytest.mark.parametrize("name", sorted(COMPONENT_TYPES))
def test_the_largest_element_of_every_type_is_read_back(name):
    most = (1 << COMPONENT_TYPES[name].bits) - 1
    text = f"{most:x}"
    element = WrongElement(0, 0, 0, 0, name, most, most, most, "nan", (most,))
    matrix = FailingMatrix((1, 1), name, ("1",), (text,), (text,), {0: ("1",)})
    failure = replace(WHOLE, mismatch=replace(WHOLE.mismatch, elements=(element,), matrix=matrix))
    assert failure_of(json.loads(json.dumps(failure_record(failure)))) == failure
    assert str(element)


def names(kind: type) -> set[str]:
    """Return the names of a dataclass's fields."""
    return {field.name for field in fields(kind)}


BYTES = Mismatch("padding overwritten", "d_out", "bytes", 0, 1, 2, "at byte 3")
ELEMENT = WrongElement(0, 0, 1, 2, "f16", 0x3C00, 1.0, 0, 0.0, (0x3C01,), EnvelopeBounds(0.5, 1.5, 1.0, 0.5, 2.0))
MATRIX = FailingMatrix((1, 2), "f16", ("2",), ("0000", "3c00"), ("0000", "0000"), {0: ("2",)})
TENSOR = TensorMap("load", "m", "t", 0, (1, 2), (2,), (0,), (2,), (1,), "UNDEFINED", (0, 1), (0, 1))
WHOLE = Failure(
    "s",
    replace(BYTES, kind="wrong value", elements=(ELEMENT,), matrix=MATRIX, requirement="KHR-MAD-04", position="F-CM2-4"),
    (Match("multiply_add.without_c", "d without C"),),
    TENSOR,
    MachineWalk("stored by lane 0", (MachineLine(8, "v_mov_b32 v1, 0", "v1 = 0x00000000", ()),)),
)
TRY = Try(True, Verdict.FAIL, "", "", 0.0)
EXAMPLE = CaseResult(id="a", family="a", verdict=Verdict.FAIL, tries=(TRY,), failures=(WHOLE,))


def test_the_fields_of_a_line_are_those_of_the_classes():
    record = json.loads(encode(EXAMPLE))
    assert set(record) == names(CaseResult)
    assert set(record["tries"][0]) == names(Try)
    (failure,) = record["failures"]
    assert set(failure) == (names(Failure) | names(Mismatch) | names(FailingMatrix)) - {"mismatch", "matrix", "unreadable"}
    assert set(failure["elements"][0]) == (names(WrongElement) | names(EnvelopeBounds)) - {"component", "bounds"}
    assert set(failure["tensor"]) == names(TensorMap)
    assert set(failure["machine"]) == names(MachineWalk)
    assert set(failure["machine"]["lines"][0]) == names(MachineLine)
    assert set(failure["matches"][0]) == {"id", "text"}


def test_the_page_about_results_documents_every_field():
    page = (REPOSITORY / "docs" / "results.md").read_text(encoding="utf-8")
    assert f'{{"schema":{SCHEMA}}}' in page
    record = json.loads(encode(EXAMPLE))
    (failure,) = record["failures"]
    written = {
        "result": record,
        "failing array": failure,
        "wrong element": failure["elements"][0],
        "tensor": failure["tensor"],
        "machine": failure["machine"],
        "machine line": failure["machine"]["lines"][0],
        "try": record["tries"][0],
    }
    for name, fields_ in written.items():
        (table,) = re.findall(rf"\n\| {name}: field \| meaning \|\n\| --- \| --- \|\n((?:\|.*\|\n)+)", page)
        documented = [field for row in table.splitlines() for field in re.findall(r"`(\w+)`", row.split("|")[1])]
        assert sorted(documented) == sorted(fields_), name


@pytest.mark.parametrize("journal", [None, *sorted((REPOSITORY / FOLDER).glob("*smoke*/*.jsonl.gz"))])
def test_written_lines_fit_the_json_schema(journal):
    results = [EXAMPLE, replace(EXAMPLE, failures=(Failure("s", BYTES),))] if journal is None else [*read(journal)][::50]
    for result in results:
        line = encode(result)
        assert json.loads(msgspec.json.encode(msgspec.json.decode(line, type=records()["result"]))) == json.loads(line)


def test_the_printed_schema_has_every_field_of_a_result_and_of_a_run(capsys):
    assert main(["schema"]) == 0
    kinds = json.loads(capsys.readouterr().out)["$defs"]
    assert kinds["result"]["properties"].keys() == {one.name for one in fields(CaseResult)}
    assert kinds["RunRecord"]["properties"].keys() == RunRecord.__annotations__.keys()


def test_a_step_that_took_no_finite_time_loses_only_its_time():
    line = encode_object(RECORD | {"steps": {"pipeline": math.nan, "device": 1.0}})
    assert result_of(parse(line)).steps == {"device": 1.0}


def test_a_record_may_lack_everything_but_id_and_verdict():
    assert result_of(RECORD) == CaseResult(id="f[a]", family="f", verdict=Verdict.PASS)


def test_a_field_that_the_schema_does_not_name_is_ignored():
    assert result_of(RECORD | {"later": [[[]]]}) == result_of(RECORD)


@pytest.mark.parametrize(
    ("changes", "field", "problem"),
    [
        ({"id": 3}, "id", "Expected `str`, got `int`"),
        ({"id": ""}, "id", "is empty"),
        ({"family": ["f"]}, "family", "Expected `str`, got `array`"),
        ({"verdict": "maybe"}, "verdict", "Invalid enum value 'maybe'"),
        ({"verdict": None}, "verdict", "Expected `str`, got `null`"),
        ({"seconds": "nan"}, "seconds", "Expected `float`, got `str`"),
        ({"seconds": -1}, "seconds", "Expected `float` >= 0.0"),
        ({"seconds": 1e300}, "seconds", "Expected `float` <= 1000000000.0"),
        ({"seconds": True}, "seconds", "Expected `float`, got `bool`"),
        ({"subcases": 1.5}, "subcases", "Expected `int`, got `float`"),
        ({"subcases": 10**400}, "subcases", "Expected `int` <= 9007199254740992"),
        ({"attempt": 0}, "attempt", "Expected `int` >= 1"),
        ({"requirements": "KHR"}, "requirements", "Expected `array`, got `str`"),
        ({"requirements": ["a", {}]}, "requirements[1]", "Expected `str`, got `object`"),
        ({"steps": {"device": [1]}}, "steps[...]", "Expected `float`, got `array`"),
        ({"parameters": ["scope"]}, "parameters", "Expected `object`, got `array`"),
        ({"parameters": {"scope": "subgroup", "trips": 3}}, "parameters[...]", "Expected `str`, got `int`"),
        ({"failures": {}}, "failures", "Expected `array`, got `object`"),
        ({"failures": [BARE | {"count": -1}]}, "failures[0].count", "Expected `int` >= 0"),
        ({"failures": [BARE | {"kind": "odd"}]}, "failures[0].kind", "Invalid enum value 'odd'"),
        ({"failures": [BARE, BARE | {"matches": [1]}]}, "failures[1].matches[0]", "Expected `object`, got `int`"),
        ({"failures": [BARE | {"matches": [{"id": "a"}]}]}, "failures[0].matches[0].text", "is missing"),
        ({"tries": [{"alone": True}]}, "tries[0]", "Object missing required field `verdict`"),
        ({"tries": 3}, "tries", "Expected `array`, got `int`"),
        ({"message": "x" * 100, "tier": ["x" * 100]}, "tier", "Expected `str`, got `array`"),
        ({"reason": {"x" * 1000: 1}}, "reason", "Expected `str`, got `object`"),
    ],
)
def test_fields_that_do_not_fit_are_named(changes, field, problem):
    with pytest.raises(WrongField) as wrong:
        result_of(RECORD | changes)
    assert (wrong.value.field, wrong.value.problem) == (field, problem)


def test_explanations_in_a_journal_without_ids_are_only_text():
    result = result_of(RECORD | {"failures": [BARE | {"matches": ["matrix a loaded transposed"]}]})
    assert result.failures[0].matches == (Match("", "matrix a loaded transposed"),)


@pytest.mark.parametrize("record", [3, None, "pass", ["f[a]", "pass"]])
def test_a_record_is_an_object(record):
    with pytest.raises(WrongField, match="Expected `object`"):
        result_of(record)


@pytest.mark.parametrize("missing", ["id", "verdict"])
def test_a_record_has_an_id_and_a_verdict(missing):
    with pytest.raises(WrongField, match="missing required field"):
        result_of({key: value for key, value in RECORD.items() if key != missing})


KEYS = st.sampled_from([*failure_record(WHOLE), *names(Try), "x"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(sorted(failure_record(WHOLE))), JSON))
def test_no_failure_ends_in_another_error(changes):
    with suppress(WrongField):
        assert isinstance(failure_of(failure_record(WHOLE) | changes), Failure)


@given(st.dictionaries(st.sampled_from([*names(CaseResult), "later"]), JSON))
def test_no_record_ends_in_another_error(changes):
    with suppress(WrongField):
        assert isinstance(result_of(RECORD | changes).verdict, Verdict)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b'{"a": -Infinity}', "-Infinity is not a JSON number"),
        (b'{"a": 1, "a": 2}', 'the key "a" is given twice'),
        (b'{"a": \xff}', "not UTF-8 at byte 6"),
        (b"[" * 100_000, "nested too deeply"),
        (b"1" * 10_000, "a number has too many digits"),
        (b'{"a"', "not JSON: "),
        (b"", "not JSON: "),
    ],
)
def test_lines_that_are_not_json_are_named(data, problem):
    with pytest.raises(NotJson) as wrong:
        parse(data)
    assert wrong.value.problem.startswith(problem)


def large(side):
    """Return a failure with a square matrix, all of whose elements are wrong."""
    some = min(4096, side * side)
    masks = (f"{(1 << side) - 1:x}",) * side
    matrix = FailingMatrix((side, side), "f32", masks, ("00000000",) * some, ("00000001",) * some, dict.fromkeys(range(8), masks), 8)
    elements = tuple(replace(WHOLE.mismatch.elements[0], column=column, component="f32") for column in range(64)) * 2
    return replace(WHOLE, mismatch=replace(WHOLE.mismatch, count=8 * side * side, matrix=matrix, elements=elements))


@pytest.mark.parametrize(("side", "failures"), [(64, 1), (1024, 1), (64, 8), (8, 400)])
def test_a_long_result_keeps_its_counts_and_the_first_elements_of_its_first_failure(failures, side):
    line = encode(replace(EXAMPLE, message="m", failures=(large(side),) * failures))
    assert len(line) <= MOST_WRITTEN
    result = result_of(parse(line))
    assert result.message == "m"
    assert {failure.mismatch.count for failure in result.failures} == {8 * side * side}
    kept = result.failures[0].mismatch.elements
    assert kept == large(side).mismatch.elements[: len(kept)]
    assert len(kept) >= 16 or failures == 400


def test_a_long_result_loses_the_elements_of_its_other_failures_first():
    result = result_of(parse(encode(replace(EXAMPLE, failures=(large(16),) * 4))))
    assert result.failures[0].mismatch.elements == large(16).mismatch.elements
    assert result.failures[1].mismatch.elements == large(16).mismatch.elements[:16]
    assert result.failures[1].mismatch.matrix.wrong == large(16).mismatch.matrix.wrong


def test_a_result_that_is_too_long_even_then_keeps_its_verdict_and_the_beginning_of_its_message():
    failure = replace(WHOLE, mismatch=replace(BYTES, pattern="p" * MOST_WRITTEN))
    line = encode(replace(EXAMPLE, message="m" * 2 * MOST_WRITTEN, driver_messages=("d" * MOST_WRITTEN,), failures=(failure,)))
    assert len(line) <= MOST_WRITTEN
    result = result_of(parse(line))
    assert (result.verdict, result.failures) == (Verdict.FAIL, ())
    assert result.message.startswith("mmm")


def test_text_from_a_journal_cannot_steer_a_terminal():
    odd = "\x1b[2J\n\u202e"
    record = RECORD | {"tier": odd, "message": odd, "failures": [BARE | {"what": odd, "matches": [odd]}], "parameters": {odd: odd}}
    result = result_of(parse(encode_object(record), SEVERAL_LINES))
    shown = "\\x1b[2J\\n\\u202e"
    assert (result.tier, result.message, result.parameters) == (shown, "\\x1b[2J\n\\u202e", {shown: shown})
    assert (result.failures[0].mismatch.what, result.failures[0].matches[0].text) == (shown, shown)


def test_a_driver_cannot_steer_a_terminal_by_its_name_or_its_words():
    odd = "one\x9b\ntwo\u202e"
    result = replace(EXAMPLE, reason="\x1b[2J\nreason", device="GPU\x07", driver="\udcff1.0", message=odd, driver_messages=(odd,))
    assert (result.reason, result.device, result.driver) == ("\\x1b[2J\\nreason", "GPU\\x07", "\\udcff1.0")
    assert (result.message, *result.driver_messages) == ("one\\x9b\ntwo\\u202e",) * 2


@given(st.text())
def test_printable_text_is_left_alone_and_can_be_written_anywhere(text):
    shown = printable(text)
    assert printable(shown) == shown
    shown.encode("utf-8")
    assert not {character for character in shown if ord(character) < 32 or 127 <= ord(character) < 160} - {"\n", "\t"}


def test_a_journal_is_plain_json(tmp_path):
    assert json.loads(encode_object(RECORD)) == RECORD


def test_a_device_cannot_steer_a_terminal_by_its_name():
    description = DeviceDescription("GPU\x1b[31m\n", "1.0\x9b", "", "vulkan", "1.4\x07", 32, 64, 1, {})
    assert (description.name, description.driver, description.api_version) == ("GPU\\x1b[31m\\n", "1.0\\x9b", "1.4\\x07")


def test_a_match_keeps_how_much_it_explains():
    match = Match("multiply_add.c_twice", "C twice", explains=3, failing=4, equal=True, where="sum:d")
    record = json.loads(encode(replace(EXAMPLE, failures=(replace(WHOLE, matches=(match,)),))))
    told = {"id": match.id, "text": "C twice", "explains": 3, "failing": 4, "equal": True, "where": "sum:d"}
    assert record["failures"][0]["matches"] == [told]
    assert result_of(record).failures[0].matches == (match,)
