"""Reading journals."""

from __future__ import annotations

import gzip

import pytest

from cts.journal import journal
from cts.journal.journal import Fault, JournalError
from cts.verdict.verdict import Verdict
from reports import read
from reports.journals import MOST_FAULTS, whole_results
from tests.suite import REPOSITORY


def test_the_last_result_of_a_case_wins(example, tmp_path):
    path = example.write_journal(tmp_path, [example.record("a[1]", "crash"), example.record("a[2]"), example.record("a[1]")])
    assert [(result.id, result.verdict) for result in read(path).results] == [("a[1]", Verdict.PASS), ("a[2]", Verdict.PASS)]


def test_later_journals_win_over_earlier_ones(example, tmp_path):
    first = example.write_journal(tmp_path / "1", [example.record("a[1]"), example.record("a[2]")], tier="smoke")
    second = example.write_journal(tmp_path / "2", [example.record("a[2]", "fail"), example.record("a[3]")], tier="full")
    run = read([first, second])
    assert [str(result.verdict) for result in run.results] == ["pass", "fail", "pass"]
    assert [meta["tier"] for meta in run.metas] == ["smoke", "full"]


def test_a_directory_stands_for_its_journal(example, tmp_path):
    path = example.write_journal(tmp_path, [example.record("a[1]")])
    assert read(tmp_path) == read(path)


def test_fields_that_grow_with_the_matrix_are_read_only_when_asked_for(example, tmp_path):
    line = example.record("a[1]")
    example.fail(line, example.failure(8, 8, lambda row, column: True))
    run = read(example.write_journal(tmp_path, [line, example.record("a[2]")]))
    assert run.results[0].failures[0].mismatch.elements == ()
    (whole,) = whole_results(run, {("a[1]", 1)})
    assert len(whole.failures[0].mismatch.elements) == 12


def test_equal_texts_of_results_are_one_object(example, tmp_path):
    first, second = read(example.write_journal(tmp_path, [example.record("a[1]"), example.record("a[2]")])).results
    assert first.driver is second.driver
    assert first.requirements is second.requirements


def test_the_last_failures_of_an_attempt_that_failed_twice_are_read(example, tmp_path):
    lines = [example.record("a[1]"), example.record("a[2]", "crash"), example.record("a[1]")]
    for line, rows in ((lines[0], 4), (lines[2], 8)):
        example.fail(line, example.failure(rows, 8, lambda row, column: True))
    run = read(example.write_journal(tmp_path, lines))
    found = {result.id: result.failures for result in whole_results(run, {("a[1]", 1), ("a[2]", 1)})}
    assert found["a[1]"][0].mismatch.matrix.shape == (8, 8)
    assert found["a[2]"] == ()


def test_failures_are_read_from_each_of_several_journals(example, tmp_path):
    lines = [example.record("a[1]"), example.record("a[2]")]
    for line in lines:
        example.fail(line, example.failure(8, 8, lambda row, column: True))
    first = example.write_journal(tmp_path / "1", [example.record("a[3]"), lines[0]])
    second = example.write_journal(tmp_path / "2", lines[1:])
    packed = second.with_name("results.jsonl.gz")
    packed.write_bytes(gzip.compress(second.read_bytes()))
    found = list(whole_results(read([first, packed]), {("a[1]", 1), ("a[2]", 1)}))
    assert [result.id for result in found] == ["a[1]", "a[2]"]
    assert all(result.failures[0].mismatch.elements for result in found)


def test_a_journal_that_changes_while_it_is_read_is_named(example, tmp_path):
    line = example.record("a[1]")
    example.fail(line, example.failure(8, 8, lambda row, column: True))
    path = example.write_journal(tmp_path, [example.record("a[2]"), line])
    run = read(path)
    path.write_bytes(path.read_bytes()[3:])
    with pytest.raises(JournalError, match=r"results\.jsonl"):
        list(whole_results(run, {("a[1]", 1)}))


def test_a_torn_last_line_is_not_a_result(example, tmp_path):
    path = example.write_journal(tmp_path, [example.record("a[1]"), example.record("a[2]")])
    path.write_bytes(path.read_bytes()[:-20])
    assert [result.id for result in read(path).results] == ["a[1]"]


def test_a_record_may_lack_everything_but_id_and_verdict(tmp_path):
    (tmp_path / "results.jsonl").write_text('{"id": "muladd[f16]", "verdict": "pass"}\n')
    run = read(tmp_path)
    assert run.metas == ()
    assert run.results[0].family == "muladd"
    assert run.results[0].requirements == ()


def test_a_line_that_does_not_fit_the_schema_is_dropped_and_named(tmp_path):
    (tmp_path / "results.jsonl").write_text('{"id": "muladd[f16]", "verdict": "marvellous"}\n{"id": "muladd[f32]", "verdict": "pass"}\n')
    run = read(tmp_path)
    assert [result.id for result in run.results] == ["muladd[f32]"]
    assert run.dropped == 1
    assert [str(fault) for fault in run.faults] == ["results.jsonl:1: verdict: Invalid enum value 'marvellous'"]


def test_the_first_of_many_wrong_lines_are_named_and_all_are_counted(tmp_path):
    (tmp_path / "results.jsonl").write_text("{}\n" * 1000)
    run = read(tmp_path)
    assert (run.dropped, len(run.faults)) == (1000, MOST_FAULTS)


def test_each_attempt_at_a_case_has_a_result(example, tmp_path):
    records = [example.record("a[1]", verdict, attempt=attempt) for attempt, verdict in ((1, "pass"), (2, "fail"), (1, "crash"))]
    run = read(example.write_journal(tmp_path, records))
    assert [(result.attempt, str(result.verdict)) for result in run.results] == [(1, "crash"), (2, "fail")]


def test_a_compressed_journal_is_read_if_there_is_no_other(example, tmp_path):
    plain = example.write_journal(tmp_path, [example.record("case", "pass")])
    packed = plain.with_name("results.jsonl.gz")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert journal.journal_of(tmp_path) == plain
    plain.unlink()
    assert [result.id for result in read(tmp_path).results] == ["case"]


@pytest.mark.parametrize("spoil", [lambda data: data[:-9], lambda data: b"{}" + data])
def test_a_compressed_journal_that_is_broken_is_named(tmp_path, spoil):
    packed = tmp_path / "results.jsonl.gz"
    packed.write_bytes(spoil(gzip.compress(b"{}\n" * 10)))
    with pytest.raises(JournalError, match=r"results\.jsonl\.gz"):
        read(tmp_path)


def test_a_journal_that_is_not_there_is_named(tmp_path):
    with pytest.raises(JournalError, match=r"missing\.jsonl"):
        read(tmp_path / "missing.jsonl")


@pytest.mark.parametrize(
    "published", sorted(path.parent.name for path in (REPOSITORY / "reports" / "published").glob("*/results.jsonl.gz"))
)
def test_published_journals_are_read_whole(published, tmp_path):
    folder = REPOSITORY / "reports" / "published" / published
    lines = gzip.decompress((folder / "results.jsonl.gz").read_bytes())
    found: list[Fault] = []
    results = list(journal.read(journal.journal_of(folder), found.append))
    assert journal.read_meta(folder, found.append)["device"]["name"] == results[0].device
    assert found == []
    assert len(results) == len(lines.splitlines()) - lines.count(b'{"schema":')
    failures = [failure for result in results for failure in result.failures]
    assert not any(failure.unreadable for failure in failures)
    values = [failure.mismatch for failure in failures if failure.mismatch.kind == "wrong value"]
    assert any(mismatch.elements and mismatch.matrix.wrong for mismatch in values) == bool(values)
