from __future__ import annotations

import json
import math
import multiprocessing
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cts.devices.device import DeviceDescription
from cts.devices.identity import record_of
from cts.journal.journal import (
    META,
    Fault,
    Journal,
    JournalError,
    await_writers,
    join_writers,
    mend,
    prepare,
    read,
    read_meta,
    resumed_meta,
    write_meta,
)
from cts.journal.record import SCHEMA, encode_object, result_of
from cts.verdict.verdict import Verdict


def judged_ids(path) -> set[str]:
    return {result.id for result in read(path)}


def record(id_: str, **more: object) -> dict[str, object]:
    return {"id": id_, "verdict": "pass", **more}


def test_appended_results_are_read_back_in_order(tmp_path):
    path = tmp_path / "results.jsonl"
    with Journal(path) as journal:
        journal.append(result_of(record("a[1]", message="two\nlines, ünï")))
        journal.append(result_of(record("a[2]")))
    assert [result.id for result in read(path)] == ["a[1]", "a[2]"]
    assert next(read(path)).message == "two\nlines, ünï"
    assert judged_ids(path) == {"a[1]", "a[2]"}


def test_an_appended_line_is_in_the_file_at_once(tmp_path):
    path = tmp_path / "results.jsonl"
    journal = Journal(path)
    journal.append(result_of(record("a[1]")))
    assert path.read_bytes().endswith(b"\n")
    journal.close()


def test_a_torn_last_line_is_dropped(tmp_path):
    path = tmp_path / "results.jsonl"
    whole = encode_object(record("a[1]")) + encode_object(record("a[2]"))
    for cut in range(len(encode_object(record("a[1]"))), len(whole)):
        path.write_bytes(whole[:cut])
        assert judged_ids(path) == {"a[1]"}, cut


def test_a_damaged_line_in_the_middle_costs_only_its_case(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(encode_object(record("a[1]")) + b'{"id":"a[2]","ver' + b"\n" + encode_object(record("a[3]")))
    assert judged_ids(path) == {"a[1]", "a[3]"}


@given(st.binary(max_size=300).filter(lambda tail: b"\n" not in tail), st.integers(0, 3))
def test_mending_leaves_whole_lines_only(tmp_path_factory, tail, count):
    path = tmp_path_factory.mktemp("journal") / "results.jsonl"
    whole = b"".join(encode_object(record(f"a[{number}]")) for number in range(count))
    path.write_bytes(whole + tail)
    mend(path)
    assert path.read_bytes() == whole


def test_a_line_without_an_id_and_a_verdict_in_text_is_not_a_result(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(b'{"id":[1],"verdict":"pass"}\n{"id":"a","verdict":null}\n' + encode_object(record("b")))
    assert [result.id for result in read(path)] == ["b"]


def test_mending_finds_a_newline_further_back_than_one_block(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(encode_object(record("a[1]")) + b"x" * 200_000)
    mend(path)
    assert path.read_bytes() == encode_object(record("a[1]"))


def test_numbers_that_json_lacks_become_strings():
    line = encode_object({"nan": math.nan, "list": [math.inf, 1.5], "object": {"a": -math.inf}})
    assert json.loads(line, parse_constant=pytest.fail) == {"nan": "nan", "list": ["inf", 1.5], "object": {"a": "-inf"}}


def _append_many(path: Path, worker: int) -> None:
    with Journal(path) as journal:
        for number in range(200):
            journal.append(result_of(record(f"a[{worker}-{number}]", message="x" * 3000)))


def test_lines_of_several_processes_do_not_mix(tmp_path):
    path = tmp_path / "results.jsonl"
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_append_many, args=(path, worker)) for worker in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert len(path.read_bytes().splitlines()) == 800
    assert len(judged_ids(path)) == 800


def test_a_directory_in_use_is_refused_unless_resumed(tmp_path):
    path = prepare(tmp_path / "deep" / "out", resume=False)
    path.write_bytes(encode_object(record("a[1]")) + b"torn")
    with pytest.raises(JournalError, match="--resume"):
        prepare(path.parent, resume=False)
    assert prepare(path.parent, resume=True).read_bytes() == encode_object(record("a[1]")) + encode_object({"schema": SCHEMA})


def test_a_run_without_results_leaves_a_directory_that_another_run_may_use(tmp_path):
    path = prepare(tmp_path, resume=False)
    assert list(read(path)) == []
    assert prepare(tmp_path, resume=False) == path


def test_a_journal_of_an_older_schema_is_read(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(encode_object({"id": "a[1]", "verdict": "expected_fail"}))
    assert [(result.verdict, result.code, result.parameters) for result in read(path)] == [(Verdict.KNOWN_FAIL, "", {})]


@pytest.mark.parametrize("schema", [SCHEMA + 1, 0, "2", None])
def test_a_journal_of_an_unknown_schema_is_refused_and_the_message_says_what_to_do(tmp_path, schema):
    path = tmp_path / "results.jsonl"
    path.write_bytes(encode_object({"schema": schema}) + encode_object(record("a[1]")))
    with pytest.raises(JournalError, match="use the version of the suite that wrote it"):
        list(read(path))


def test_a_directory_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(JournalError, match="cannot write the report directory"):
        prepare(tmp_path / "out", resume=False)


def test_a_full_disk_is_reported():
    with Journal(Path("/dev/full")) as journal, pytest.raises(JournalError, match="No space left"):
        journal.append(result_of(record("a[1]")))


def meta(**more: object) -> dict[str, object]:
    device = {"name": "GPU", "driver": "1.0", "uuid": "00"}
    return {"suite_version": "1", "device": device, "front_end": "spirv", "tier": "smoke", "command": "c", "started": "now"} | more


def test_resuming_keeps_the_first_start_and_adds_the_second(tmp_path):
    write_meta(tmp_path, meta(finished="then"))
    resumed = resumed_meta(tmp_path, meta(tier="nightly", started="later"))
    assert resumed["started"] == "now"
    assert resumed["tier"] == "nightly"
    assert resumed["resumed"] == ({"command": "c", "started": "later"},)
    assert "finished" not in resumed


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"device": {"name": "GPU", "driver": "2.0", "uuid": "00"}}, "another device"),
        ({"front_end": "glsl"}, "another front end"),
        ({"suite_version": "2"}, "another suite version"),
        ({"validation": True}, "another choice of --validation"),
        ({"embedded_mapping": "blocked"}, "another --embedded-mapping"),
    ],
)
def test_results_of_different_runs_do_not_mix(tmp_path, changed, words):
    write_meta(tmp_path, meta())
    with pytest.raises(JournalError, match=words):
        resumed_meta(tmp_path, meta(**changed))


def described(**values: object) -> dict[str, object]:
    one = DeviceDescription("GPU", "1.0", "00", "vulkan", "1.4.0", 32, 1024, 32768, {"cooperativeMatrix": True})
    return meta(device=record_of(replace(one, **values)))


def test_a_device_that_now_says_something_else_is_not_gone_on_with(tmp_path):
    write_meta(tmp_path, described())
    resumed_meta(tmp_path, described())
    with pytest.raises(JournalError, match=r"features\.cooperativeMatrix: true → false"):
        resumed_meta(tmp_path, described(features={"cooperativeMatrix": False}))


def test_a_merged_run_compares_the_device_of_the_part_that_it_goes_on_with(tmp_path):
    other = described(uuid="ff")
    write_meta(tmp_path, described() | {"merged": [described(), other]})
    resumed_meta(tmp_path, other)
    with pytest.raises(JournalError, match=r"subgroup_size: 32 → 16"):
        resumed_meta(tmp_path, described(uuid="ff", subgroup_size=16))


def test_a_device_is_told_from_another_with_its_uuid_by_its_number(tmp_path):
    first, second = (meta(device={"name": "GPU", "driver": "1.0", "uuid": "00", "number": number}) for number in range(2))
    write_meta(tmp_path, first)
    with pytest.raises(JournalError, match="another device"):
        resumed_meta(tmp_path, second)


def test_results_that_do_not_say_what_they_are_of_are_not_gone_on_with(tmp_path):
    with pytest.raises(JournalError, match=r"meta\.json.* is missing or damaged"):
        resumed_meta(tmp_path, meta())


def test_a_missing_or_broken_meta_is_empty(tmp_path):
    assert read_meta(tmp_path) == {}
    (tmp_path / "meta.json").write_text("{")
    assert read_meta(tmp_path) == {}


def faults(path: Path) -> list[str]:
    found: list[Fault] = []
    list(read(path, found.append))
    return [str(fault) for fault in found]


def test_lines_that_hold_no_result_are_named_by_number_and_field(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(
        encode_object(record("a"))
        + encode_object({"id": "b", "verdict": "pass", "family": []})
        + b'{"id":\n'
        + encode_object(record("c"))
        + b'{"id":"d","verdict":"pass","seconds":NaN}\n'
        + b'{"id":"e"'
    )
    assert [result.id for result in read(path)] == ["a", "c"]
    assert faults(path) == [
        "results.jsonl:2: family: Expected `str`, got `array`",
        "results.jsonl:3: not JSON: Expecting value at character 7",
        "results.jsonl:5: NaN is not a JSON number",
        "results.jsonl:6: the line is cut short",
    ]


def test_a_line_that_is_too_long_is_passed_over_and_the_next_one_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("cts.journal.journal.MOST_BYTES", 100)
    path = tmp_path / "results.jsonl"
    path.write_bytes(b'{"id":"' + b"a" * 1000 + b'","verdict":"pass"}\n' + encode_object(record("b")))
    assert [result.id for result in read(path)] == ["b"]
    assert faults(path) == ["results.jsonl:1: the line is longer than 100 bytes"]


def test_a_line_after_one_that_was_cut_short_is_a_line_of_its_own(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(encode_object(record("a")))
    with Journal(path) as journal:
        with path.open("ab") as other:
            other.write(b'{"id":"torn')
        journal.append(result_of(record("b")))
    assert [result.id for result in read(path)] == ["a", "b"]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("device", ["GPU"], "meta.json: device: Expected `object`, got `array`; it is left out"),
        ("device", {"name": 3}, "meta.json: device.name: Expected `str`, got `int`; it is left out"),
        ("seconds", "nan", "meta.json: seconds: Expected `float`, got `str`; it is left out"),
        ("findings", [{"step": "close"}], "meta.json: findings[0]: Object missing required field `what`; it is left out"),
        ("later", json.loads("[" * 30 + "]" * 30), "meta.json: later: nested deeper than 20 levels; it is left out"),
    ],
)
def test_a_field_of_the_meta_that_does_not_fit_is_left_out_and_named(tmp_path, field, value, said):
    write_meta(tmp_path, meta(**{field: value}))
    found: list[Fault] = []
    assert read_meta(tmp_path, found.append) == {key: text for key, text in meta().items() if key != field}
    assert [str(fault) for fault in found] == [said]


@pytest.mark.parametrize("text", ["[]", '{"a": NaN}', "[" * 100_000, "{", '{"a":1,"a":2}'])
def test_a_meta_that_is_not_an_object_is_named(tmp_path, text):
    (tmp_path / META).write_text(text)
    found: list[Fault] = []
    assert read_meta(tmp_path, found.append) == {}
    assert len(found) == 1


def test_a_journal_is_not_resumed_while_a_worker_of_the_earlier_run_may_write(tmp_path):
    prepare(tmp_path, resume=False)
    worker = join_writers(tmp_path)
    with pytest.raises(JournalError, match="a worker of an earlier run is still judging"):
        await_writers(tmp_path, 0.0)
    os.close(worker)
    await_writers(tmp_path, 0.0)
    prepare(tmp_path, resume=True)
