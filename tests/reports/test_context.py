"""The headline is never better than the results."""

from __future__ import annotations

import pytest

from reports import read, summarise
from reports.context import context, headline

ENDED = {"started": "2027-03-01T12:00:00Z", "finished": "2027-03-01T12:01:00Z"}


@pytest.fixture
def level(example, tmp_path):
    def judge(*verdicts: str, **meta: object) -> str:
        run = read(example.write_journal(tmp_path, [example.record(f"a[{n}]", verdict) for n, verdict in enumerate(verdicts)], **meta))
        return headline(summarise(run.results), context(run)).level

    return judge


@pytest.mark.parametrize("verdict", ["fail", "crash", "timeout", "device_lost"])
def test_one_bad_verdict_is_bad(level, verdict):
    assert level("pass", verdict, "error", **ENDED) == "bad"


def test_errors_of_the_suite_are_unsure(level):
    assert level("pass", "error", **ENDED) == "unsure"


def test_nothing_judged_is_unsure(level):
    assert level(**ENDED) == "unsure"


def test_nothing_supported_is_unsure(level):
    assert level("not_supported", "not_supported", **ENDED) == "unsure"


def test_a_run_that_did_not_end_is_unsure(level):
    assert level("pass", started="2027-03-01T12:00:00Z") == "unsure"


@pytest.mark.parametrize("content", [None, "{"])
def test_a_reader_learns_that_it_is_unknown_whether_the_run_ended(example, tmp_path, content):
    path = example.write_journal(tmp_path, [example.record("a[1]")], **ENDED)
    assert not context(read(path)).notes
    meta = path.parent / "meta.json"
    meta.unlink() if content is None else meta.write_text(content)
    assert context(read(path)).notes == (
        "meta.json is missing or damaged: it is unknown whether the run finished, and selected cases may be missing.",
    )


def test_passes_of_what_is_supported_are_good(level):
    assert level("pass", "not_supported", **ENDED) == "good"
    assert level("pass") == "good"


def test_results_of_two_drivers_are_reported_as_mixed(example, tmp_path):
    about = context(read(example.write_journal(tmp_path, [example.record("a[1]"), example.record("a[2]", driver="other 2")])))
    assert about.facts["driver"] == "example 1.2.3, other 2"
    assert any("The totals mix them" in note for note in about.notes)


def test_an_empty_journal_takes_its_device_from_the_meta_file(example, tmp_path):
    about = context(read(example.write_journal(tmp_path, [], device=example.DEVICE, command=["pytest", "cts", "-k", "a b"])))
    assert about.facts["device"] == "Example GPU 9000"
    assert about.facts["command"] == "pytest cts -k 'a b'"


def test_the_time_of_a_resumed_run_is_not_known(example, tmp_path):
    path = example.write_journal(tmp_path, [example.record("a[1]")], seconds=3.0, resumed=[{"command": "pytest"}], **ENDED)
    assert context(read(path)).elapsed == 0


def test_compiled_cases_with_other_code_than_a_twin_are_named(example, tmp_path):
    records = [example.record("a[1]", "compiled", code="compiled.otherwise.storage"), example.record("a[2]", "compiled")]
    about = context(read(example.write_journal(tmp_path, records, **ENDED)))

    assert [("a[1]" in note, "a[2]" in note) for note in about.notes] == [(True, False)]
