"""Archives: what is added is there once, whatever happens meanwhile."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import signal
import sys

import pytest

pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install '.[farm]'")

from cts.cli import main
from cts.journal.journal import RESULTS
from reports.archive import adding
from reports.archive.adding import add
from reports.archive.engine import ArchiveError, connected, opened, query
from reports.archive.schema import MARK, OUTCOMES, RUN_COLUMNS
from reports.comparison.runs import COMPARED

SPAWN = multiprocessing.get_context("spawn")
CASES = ("a[x]", "a[y]", "b[x]")


@pytest.fixture
def night(example, tmp_path):
    """Return a function that writes the journal of a night."""

    def write(day, verdict="pass", device="G", cases=CASES, **meta):
        records = [example.record(id_, verdict, device=device, seconds=0.001234 * day) for id_ in cases]
        started = f"2027-03-{day:02}T02:00:00Z"
        folder = tmp_path / f"{device}-{day}-{len(cases)}"
        return example.write_journal(folder, records, started=started, finished=started, device={"name": device}, **meta)

    return write


@pytest.fixture
def archive(tmp_path):
    return tmp_path / "archive"


def rows(archive, sql):
    return query(str(archive), sql)[1]


def judged(archive):
    """Return the number of judgements of each run, by device and start."""
    counted = "SELECT device, started, count(case_id), count(DISTINCT case_id) FROM runs LEFT JOIN judgements USING (run, device)"
    return {(device, started[8:10]): (number, cases) for device, started, number, cases in rows(archive, f"{counted} GROUP BY ALL")}


def files(archive):
    return {path.relative_to(archive): path.read_bytes() for path in archive.rglob("*") if path.is_file()}


def test_each_result_has_a_judgement(night, archive):
    add([night(1), night(2, "fail", code="fail.value")], archive, {})
    found = rows(archive, "SELECT case_id, family, verdict, seconds, month FROM judgements ORDER BY seconds, case_id")
    assert [(*row[:3], round(row[3], 6), row[4]) for row in found[:3]] == [(id_, id_[0], "pass", 0.00123, "2027-03") for id_ in CASES]
    assert [row[2] for row in found[3:]] == ["fail"] * 3


def test_failures_have_their_details_apart(example, archive, tmp_path):
    wrong = example.failure(8, 8, lambda row, column: row == 3) | {"matches": [{"id": "some.defect", "text": ""}]}
    record = example.record("a[x]")
    example.fail(record, wrong)
    add([example.write_journal(tmp_path / "run", [record, example.record("a[y]")], started="2027-03-01")], archive, {})
    assert rows(archive, "SELECT case_id, defects, reason FROM failures") == [("a[x]", ["some.defect"], record["reason"])]
    assert rows(archive, "SELECT explanation FROM judgements ORDER BY case_id") == [("some.defect",), ("",)]


def test_a_run_without_results_is_a_run(night, archive):
    add([night(1, cases=()), night(2)], archive, {})
    assert judged(archive) == {("G", "01"): (0, 0), ("G", "02"): (3, 3)}


def test_adding_twice_changes_nothing(night, archive):
    journals = [night(1), night(2)]
    assert len(add(journals, archive, {}).added) == 2
    before = files(archive)
    again = add(journals, archive, {})
    assert (again.added, len(again.present)) == ((), 2)
    assert files(archive) == before


def test_a_run_that_has_gone_on_replaces_its_earlier_state(night, archive):
    add([night(1, cases=CASES[:1])], archive, {})
    earlier, later = night(1, cases=CASES[:1]), night(1)
    add([later], archive, {})
    assert judged(archive) == {("G", "01"): (3, 3)}
    add([earlier], archive, {})
    assert judged(archive) == {("G", "01"): (3, 3)}


def test_two_states_of_a_run_in_one_step_are_one_run(night, archive):
    add([night(1), night(1, cases=CASES[:1])], archive, {})
    assert judged(archive) == {("G", "01"): (3, 3)}


def test_what_an_interrupted_addition_left_does_not_count_and_the_next_one_drops_it(night, archive, monkeypatch):
    add([night(1)], archive, {})
    with monkeypatch.context() as broken:
        broken.setattr(adding, "write_runs", lambda *_: (_ for _ in ()).throw(OSError(5, "interrupted")))
        with pytest.raises(ArchiveError):
            add([night(2)], archive, {})
    (archive / OUTCOMES / "left.parquet.part").write_bytes(b"PAR1")
    assert judged(archive) == {("G", "01"): (3, 3)}
    add([night(3)], archive, {})
    assert not list(archive.rglob("*.part"))
    assert rows(archive, "SELECT max(len(runs)) FROM outcomes") == [(2,)]
    add([night(2)], archive, {})
    assert judged(archive) == {("G", f"0{day}"): (3, 3) for day in (1, 2, 3)}


def test_ids_of_any_size_stay(archive):
    ids = [*range(3000), 1 << 51]
    archive.mkdir()
    with connected() as connection:
        adding.begin(connection, archive)
        adding.write_runs(connection, archive, [{**dict.fromkeys(RUN_COLUMNS), "run": one} for one in ids])
    with opened(str(archive)) as whole:
        assert whole.connection.execute("SELECT max(run), count(*) FROM runs").fetchall() == [(1 << 51, 3001)]


def test_an_archive_has_the_facts_that_a_comparison_shows():
    assert set(COMPARED) <= set(RUN_COLUMNS)


def test_a_journal_that_cannot_be_read_is_left_out(night, archive, tmp_path, capsys):
    night(1)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / RESULTS).write_text('{"schema": 1000}\n')
    assert main(["archive", "import", str(tmp_path), "--to", str(archive)]) == 2
    assert "broken" in capsys.readouterr().err
    assert len(judged(archive)) == 1


def test_a_folder_that_is_no_archive_is_refused(night, tmp_path):
    journal = night(1)
    with pytest.raises(ArchiveError):
        add([journal], tmp_path, {})


def test_an_archive_of_a_later_version_is_refused(night, archive):
    add([night(1)], archive, {})
    (archive / MARK).write_text(json.dumps({"schema": 1000}))
    for use in (lambda: add([night(2)], archive, {}), lambda: query(str(archive), "SELECT 1")):
        with pytest.raises(ArchiveError):
            use()


@pytest.mark.parametrize("sql", ["", "-- nothing", "SELECT nothing"])
def test_a_wrong_query_is_an_error(night, archive, sql):
    add([night(1)], archive, {})
    with pytest.raises(ArchiveError):
        query(str(archive), sql)


def test_a_folder_without_an_archive_has_no_rows(tmp_path, capsys):
    assert main(["archive", "sql", str(tmp_path / "nowhere"), "SELECT 1"]) == 2
    assert "archive.json" in capsys.readouterr().err


def test_the_command_shows_the_rows_of_a_query(night, archive, capsys):
    assert main(["archive", "add", str(night(1).parent), "--to", str(archive)]) == 0
    capsys.readouterr()
    assert main(["archive", "sql", str(archive), "SELECT case_id, verdict FROM judgements ORDER BY ALL LIMIT 1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"case_id": "a[x]", "verdict": "pass"}]


@pytest.mark.parametrize("before", [["archive", "import"], ["history"]])
def test_without_duckdb_the_message_names_the_extra(before, monkeypatch, capsys, night, tmp_path):
    night(1)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert main([*before, str(tmp_path), *(["--to", str(tmp_path / "new")] if "import" in before else [])]) == 2
    assert ".[farm]" in capsys.readouterr().err


def add_each(journals, archive):
    for journal in journals:
        add([journal], archive, {})


def add_and_die(journals, archive, step):
    """Add journals, and be killed after ``step`` files."""
    write, left = adding.replace, iter(range(step))

    def replace(*arguments):
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        write(*arguments)

    adding.replace = replace
    add(journals, archive, {})


def test_two_writers_lose_nothing(night, archive):
    shared = [night(day) for day in (1, 2)]
    own = [[night(day, device=device) for day in range(3, 6)] for device in ("G", "H")]
    writers = [SPAWN.Process(target=add_each, args=(shared + mine, archive)) for mine in own]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert judged(archive) == {("G", "01"): (3, 3), ("G", "02"): (3, 3)} | {(d, f"0{day}"): (3, 3) for d in "GH" for day in range(3, 6)}


def test_a_killed_addition_is_repaired_by_the_next(night, archive):
    journals = [night(day, device=device) for day in range(1, 4) for device in "GH"]
    for step in (1, 2, 3):
        killed = SPAWN.Process(target=add_and_die, args=(journals, archive, step))
        killed.start()
        killed.join()
        assert killed.exitcode == -signal.SIGKILL
    assert judged(archive) == {("G", f"0{day}"): (3, 3) for day in range(1, 4)}
    add(journals, archive, {})
    assert judged(archive) == {(device, f"0{day}"): (3, 3) for day in range(1, 4) for device in "GH"}


def test_a_full_disk_changes_nothing_and_says_so(night, archive, monkeypatch):
    add([night(1)], archive, {})
    before = files(archive)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    journal = night(2)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, limit[1]))
    try:
        with pytest.raises(ArchiveError):
            add([journal], archive, {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert files(archive) == before
    add([journal], archive, {})
    assert len(judged(archive)) == 2
