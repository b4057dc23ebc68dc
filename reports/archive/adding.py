"""Adds runs to an archive, so that an interrupted or repeated addition loses and doubles nothing.

A partition has one file for each table. It is replaced as a whole, and ``runs.parquet`` is replaced last. Only runs that are in it count:
what an interrupted addition left in partitions is ignored, and the next addition to them drops it. A run is named after its contents. A
run that has gone on since it was added has another name, and replaces the earlier one in one step.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import shlex
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cts.journal.atomic import write_text
from cts.journal.journal import META, PACKED, RESULTS, JournalError, lines, read_meta
from cts.journal.outline import Outline
from reports.archive.engine import ArchiveError, check_schema, connected, quoted
from reports.archive.schema import FAILURES, KEYS, LISTS, MARK, OUTCOMES, ROWS, RUN_COLUMNS, RUNS, SCHEMA, Partition, partition_path
from reports.comparison.runs import read_run
from reports.verdicts import PAGED

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

DIGITS = 3
"""The significant digits of a time. More would be noise, which takes most of the space."""

AT_ONCE = 16
"""The most runs that are held in memory, and added in one step."""

PART = ".part"
"""The end of the names of files that are being written."""


@dataclass(frozen=True)
class Addition:
    """The result of adding runs.

    Attributes:
        added: the report directories whose runs were added, or replaced an earlier state of them.
        present: those whose runs the archive already had.
        unreadable: directory -> why its run was not added.
    """

    added: tuple[Path, ...]
    present: tuple[Path, ...]
    unreadable: Mapping[Path, str]


@dataclass(frozen=True)
class _Read:
    """A run that is to be added: its row of ``runs.parquet``, and its cases."""

    row: Mapping[str, Any]
    cases: Collection[Outline]

    @property
    def partition(self) -> Partition:
        return Partition(self.row["device"], self.row["front_end"], self.row["month"])


def journals_in(folder: Path) -> list[Path]:
    """Return the journal of each run in a folder, or in a folder below it.

    Raises:
        ArchiveError: there is none.
    """
    found = sorted({path.parent: path for path in (*folder.rglob(RESULTS + PACKED), *folder.rglob(RESULTS))}.values())
    if not found:
        raise ArchiveError(
            f"{folder} and the folders in it hold no {RESULTS}: name an archive, or the folder that holds report directories"
        )
    return found


def add(journals: Sequence[Path], archive: Path, renames: Mapping[str, str]) -> Addition:
    """Add runs to an archive, which is made if it does not exist. Runs that it already has change nothing.

    Args:
        journals: each the ``results.jsonl`` of a run, which may be compressed.
        archive: the folder of the archive.
        renames: id that a case had in an older version of the suite -> its id. The archive has the ids of today.

    Raises:
        ArchiveError: the archive cannot be written, or DuckDB is not installed. The runs of earlier steps are then in it.
    """
    added: list[Path] = []
    unreadable: dict[Path, str] = {}
    names: dict[Path, int] = {}
    with _failing_clearly(archive), connected() as connection:
        with _alone(archive):
            begin(connection, archive)
        for path in journals:
            try:
                names[path] = _digest(path)
            except JournalError as error:
                unreadable[path.parent] = str(error)
        known = {row["run"] for row in _known(connection, archive)}
        new = [path for path in names if names[path] not in known]
        for group in _by_partition(new):
            read = []
            for path in group:
                try:
                    read.append(_read(path, names[path], renames))
                except JournalError as error:
                    unreadable[path.parent] = str(error)
                else:
                    added.append(path.parent)
            with _alone(archive):
                _commit(connection, archive, read)
    gone = {*added, *unreadable}
    return Addition(tuple(added), tuple(path.parent for path in journals if path.parent not in gone), unreadable)


def _by_partition(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield the journals in groups of at most AT_ONCE, oldest first. Those that probably share a partition are together: fewer files are
    replaced."""
    groups: dict[tuple[str, str, str], list[tuple[str, Path]]] = defaultdict(list)
    for path in paths:
        meta = read_meta(path.parent)
        started = meta.get("started", "")
        groups[meta.get("device", {}).get("name", ""), meta.get("front_end", ""), started[:7]].append((started, path))
    for _, group in sorted(groups.items()):
        ordered = [path for _, path in sorted(group)]
        yield from (ordered[place : place + AT_ONCE] for place in range(0, len(ordered), AT_ONCE))


def _digest(path: Path) -> int:
    """Return the id of a run: 52 bits of a digest of its journal and its ``meta.json``, which fit a number of JSON.

    Raises:
        JournalError: the journal cannot be read.
    """
    found = sha256()
    # Only whole lines are read, and everything that cannot be a journal is refused.
    for line in lines(path, lambda _: None, lambda line: line):
        found.update(line)
    meta = path.parent / META
    found.update(meta.read_bytes() if meta.is_file() else b"")
    return int(found.hexdigest()[:13], 16)


def _read(path: Path, name: int, renames: Mapping[str, str]) -> _Read:
    """Read the run that is named ``name``."""
    run = read_run(path.parent.name, path, renames)
    meta = read_meta(path.parent)
    command = meta.get("command", "")
    first = next(lines(path, lambda _: None, lambda line: line), b"")
    identity = [meta.get("shard", ""), *(run.facts[key] for key in ("device", "front_end", "started"))]
    row = {
        "run": name,
        # Whatever is judged later, the first result of a run stays.
        "same": sha256(b"\0".join([*(text.encode() for text in identity), first])).hexdigest()[:16],
        "month": run.facts["started"][:7],
        **run.facts,
        "finished": meta.get("finished", ""),
        "seconds": meta.get("seconds"),
        "command": command if isinstance(command, str) else shlex.join(command),
        "folder": str(path.parent.absolute()),
        "notes": list(run.notes),
        "verdicts": {str(verdict): number for verdict, number in run.verdicts.items()},
    }
    return _Read(row, run.cases.values())


@contextmanager
def _alone(archive: Path) -> Iterator[None]:
    """Keep other writers waiting during the block, and remove what a killed one was writing."""
    archive.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(archive / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        # Without locks, two writers could lose runs, so a file system that has none is an error.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        for left in archive.rglob(f"*{PART}"):
            left.unlink(missing_ok=True)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _failing_clearly(archive: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unwritten(archive, error) from error


def _unwritten(path: Path, error: Exception) -> ArchiveError:
    why = getattr(error, "strerror", None) or " ".join(str(error).split())
    return ArchiveError(f"cannot write {path}: {why}. What the archive has is whole: mend that or name another archive, then add again")


def begin(connection: DuckDBPyConnection, archive: Path) -> None:
    """Make the files of an archive that is new, and check those of an old one.

    Raises:
        ArchiveError: the folder holds something else, or a later version of the suite wrote it.
    """
    mark = archive / MARK
    if mark.exists():
        check_schema(connection, str(archive))
        return
    if others := sorted(path.name for path in archive.iterdir() if path.name not in (".lock", RUNS) and not path.name.endswith(PART)):
        raise ArchiveError(f"{archive} is no archive and holds {others[0]}: name an archive, or a new folder")
    write_runs(connection, archive, [])
    write_text(mark, json.dumps({"schema": SCHEMA}) + "\n")


def _known(connection: DuckDBPyConnection, archive: Path) -> list[dict[str, Any]]:
    """Return the rows of ``runs.parquet``."""
    found = connection.execute(f"SELECT {', '.join(RUN_COLUMNS)} FROM read_parquet({quoted(f'{archive}/{RUNS}')})").fetchall()
    return [dict(zip(RUN_COLUMNS, row, strict=True)) for row in found]


def _commit(connection: DuckDBPyConnection, archive: Path, read: Sequence[_Read]) -> None:
    """Add runs in one step."""
    before = {row["run"]: row for row in _known(connection, archive)}
    latest: dict[str, Mapping[str, Any]] = {row["same"]: row for row in before.values()}
    new: dict[str, _Read] = {}
    for one in read:
        # Another writer may have added it meanwhile.
        if (same := one.row["same"]) not in latest or (one.row["run"] not in before and _progress(latest[same]) <= _progress(one.row)):
            new[same], latest[same] = one, one.row
    if not new:
        return
    partitions: dict[Partition, list[_Read]] = defaultdict(list)
    for one in new.values():
        partitions[one.partition].append(one)
    for partition, runs in partitions.items():
        write_partition(connection, archive, partition, before, OUTCOMES, _outcomes(runs))
        write_partition(connection, archive, partition, before, FAILURES, _failures(runs))
    write_runs(connection, archive, list(latest.values()))


def _progress(row: Mapping[str, Any]) -> tuple[bool, int]:
    """Return how far a run had got: an earlier state never replaces a later one."""
    return bool(row["finished"]), sum(row["verdicts"].values())


def write_partition(
    connection: DuckDBPyConnection, archive: Path, partition: Partition, known: Collection[int], table: str, columns: Mapping[str, Any]
) -> None:
    """Add rows to a partition's file of a table.

    Args:
        connection: to DuckDB.
        archive, partition, table: which file; it is made if it does not exist.
        known: the runs that stay in it.
        columns: a row for each case and run: the keys of the table, and what its lists have; arrays of one length.
    """
    path = archive / partition_path(table, partition)
    keys, lists = ", ".join(KEYS[table]), LISTS[table]
    connection.register("new", columns)
    rows = f"SELECT {', '.join(f'{name}::{kind} AS {name}' for name, kind in (KEYS[table] | dict(lists.values())).items())} FROM new"
    if path.exists():
        # What an interrupted addition has left goes.
        connection.execute("CREATE OR REPLACE TEMP TABLE stays AS SELECT unnest(?::BIGINT[]) AS run", [list(known)])
        apart = ", ".join(f"unnest({name}) AS {one}" for name, (one, _) in lists.items())
        old = f"SELECT {keys}, {apart} FROM read_parquet({quoted(str(path))}, hive_partitioning = false)"
        rows += f" UNION ALL SELECT * FROM ({old}) SEMI JOIN stays USING (run)"
    together = ", ".join(f"list({one} ORDER BY run) AS {name}" for name, (one, _) in lists.items())
    replace(connection, path, f"SELECT {keys}, {together} FROM ({rows}) GROUP BY {keys} ORDER BY {keys}")
    connection.unregister("new")


def write_runs(connection: DuckDBPyConnection, archive: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Replace ``runs.parquet``; each row has at least the columns of RUN_COLUMNS."""
    # As JSON, since DuckDB would guess the type of a column from some of its values.
    texts = [json.dumps({name: row[name] for name in RUN_COLUMNS}) for row in rows]
    connection.execute("CREATE OR REPLACE TEMP TABLE texts AS SELECT unnest(?::VARCHAR[]) AS row", [texts])
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE all_runs AS SELECT unnest(from_json(row, {quoted(json.dumps(dict(RUN_COLUMNS)))})) FROM texts"
    )
    replace(connection, archive / RUNS, "SELECT * FROM all_runs ORDER BY started, folder, run")


def replace(connection: DuckDBPyConnection, path: Path, query: str) -> None:
    """Write the rows of a query to a Parquet file: a reader sees the old file or the new one, also after the machine fails.

    Raises:
        ArchiveError: the file cannot be written.
    """
    import duckdb

    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + PART)
    try:
        connection.execute(f"COPY ({query}) TO {quoted(str(part))} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROWS})")
        _sync(part)
        part.replace(path)
        _sync(path.parent)
    except (OSError, duckdb.IOException) as error:
        raise _unwritten(path, error) from error
    finally:
        part.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _outcomes(runs: Sequence[_Read]) -> dict[str, Any]:
    every = [(one.row["run"], outline) for one in runs for outline in one.cases]
    return {
        "case_id": _texts(every, lambda outline: outline.id),
        "verdict": _texts(every, lambda outline: str(outline.verdict)),
        "code": _texts(every, lambda outline: outline.code),
        "known": _texts(every, lambda outline: outline.known),
        "explanation": _texts(every, lambda outline: outline.defects[0] if outline.defects else ""),
        "run": np.array([run for run, _ in every], dtype=np.int64),
        "seconds": np.array([_rounded(outline.seconds) for _, outline in every], dtype=np.float32),
    }


def _failures(runs: Sequence[_Read]) -> dict[str, Any]:
    every = [(one.row["run"], outline) for one in runs for outline in one.cases if outline.verdict in PAGED]
    return {
        "case_id": _texts(every, lambda outline: outline.id),
        "reason": _texts(every, lambda outline: outline.reason),
        "step": _texts(every, lambda outline: outline.step),
        "defects": _texts(every, lambda outline: json.dumps(outline.defects)),
        "run": np.array([run for run, _ in every], dtype=np.int64),
    }


def _texts(every: Sequence[tuple[int, Outline]], text: Callable[[Outline], str]) -> Any:
    return np.array([text(outline) for _, outline in every], dtype=object)


def _rounded(seconds: float) -> float:
    return round(seconds, DIGITS - 1 - math.floor(math.log10(seconds))) if seconds > 0 else 0.0
