"""Publishing a run."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from cts.journal.journal import journal_of, read, read_meta
from cts.journal.record import SEVERAL_LINES, encode, result_of
from cts.journal.strict_json import parse
from reports.publish import publish, published_journal
from tests.suite import REPOSITORY

BULK = {"steps": {}, "message": "", "failures": (), "seconds": 0.0}
"""The parts of a result that are published in part."""


@pytest.fixture
def run(example, tmp_path):
    wrong = example.failure(2, 2, lambda row, column: row == column)
    failing = [example.record(f"a[{number}]", "fail", message="line\n" * 9, failures=[wrong]) for number in range(3)]
    example.write_journal(tmp_path / "run", [example.record("b[x]", "pass", steps={"emit": 0.123456}, seconds=0.123456), *failing])
    publish(tmp_path / "run", tmp_path / "published")
    return tmp_path


def results(folder):
    return {result.id: result for result in read(journal_of(folder))}


def test_what_was_judged_and_how_it_ended_is_published_whole(run):
    before, after = results(run / "run"), results(run / "published")
    assert list(after) == sorted(before)
    assert [encode(replace(one, **BULK)) for one in after.values()] == [encode(replace(before[id_], **BULK)) for id_ in after]
    assert json.loads((run / "published" / "summary.json").read_text())["verdicts"]["fail"] == 3
    assert read_meta(run / "published") == read_meta(run / "run")


def test_only_one_failure_of_a_cause_keeps_its_elements(run):
    shown = [result for result in results(run / "published").values() if any(failure.mismatch.elements for failure in result.failures)]
    assert len(shown) == 1
    assert len(shown[0].message.splitlines()) == 9


def test_times_of_steps_are_left_out(run):
    passed = results(run / "published")["b[x]"]
    assert (passed.seconds, dict(passed.steps)) == (0.123, {})


def test_equal_runs_are_published_as_equal_files(run):
    publish(run / "run", run / "again")
    assert all((run / "again" / path.name).read_bytes() == path.read_bytes() for path in (run / "published").iterdir())


def test_a_published_run_is_published_again_as_it_is(tmp_path):
    folder = REPOSITORY / "reports" / "published" / "lavapipe-26.1.6-smoke-glsl"
    # Not the same bytes: the schema may be newer, a field that the run does not have gets its default, and a line is shortened.
    (tmp_path / "results.jsonl").write_bytes(published_journal(folder))
    assert [*read(journal_of(tmp_path))] == [result_of(parse(encode(one), SEVERAL_LINES)) for one in read(journal_of(folder))]


def test_a_chip_that_is_not_there_is_published_without_the_cases_that_it_does_not_support(example, tmp_path):
    records = [example.record("a[1]", "compiled"), example.record("a[2]", "not_supported")]
    publish(example.write_journal(tmp_path / "run", records).parent, tmp_path / "published")
    assert list(results(tmp_path / "published")) == ["a[1]"]
