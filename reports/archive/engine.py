"""Opens DuckDB on the files of an archive, which may be in a folder or in an object store."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generators.errors import CtsError
from reports.archive.schema import FAILURES, MARK, OUTCOMES, RUNS, SCHEMA, Partition, partition_path, views

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY = "800MB"
"""The most memory for DuckDB's own data. It keeps the rest in temporary files."""


class ArchiveError(CtsError):
    """The archive cannot be read or written; the message says what to do."""


@contextmanager
def connected() -> Iterator[DuckDBPyConnection]:
    """Yield a connection to an empty database in memory. An error of DuckDB in the block becomes an ArchiveError.

    Raises:
        ArchiveError: DuckDB is not installed, or failed.
    """
    try:
        import duckdb
    except ModuleNotFoundError as error:
        raise ArchiveError("history and archives need DuckDB: run pip install '.[farm]' in the checkout, or pip install duckdb") from error
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
    with tempfile.TemporaryDirectory(prefix="cts-archive-") as spilled:
        connection = duckdb.connect(config={"memory_limit": MEMORY, "threads": threads, "temp_directory": spilled})
        try:
            connection.execute("SET enable_progress_bar = false")
            yield connection
        except duckdb.Error as error:
            raise ArchiveError(f"DuckDB: {' '.join(str(error).split())}") from error
        finally:
            connection.close()


@contextmanager
def opened(archive: str, partitions: Iterable[Partition] | None = None) -> Iterator[DuckDBPyConnection]:
    """Yield a connection with the archive's views: ``runs``, ``outcomes``, ``judgements`` and ``failures``.

    Args:
        archive: a folder, or the URL of one in an object store, such as ``s3://bucket/folder``.
        partitions: the only partitions whose outcomes are visible; None for all.

    Raises:
        ArchiveError: there is no archive, or DuckDB is not installed.
    """
    with connected() as connection:
        if "://" in archive:
            _register(connection, archive)
        connection.execute(f"CREATE VIEW runs AS SELECT * FROM read_parquet({quoted(f'{archive}/{RUNS}')})")
        show(connection, archive, partitions)
        yield connection


def check_schema(archive: Path) -> None:
    """Check that this version of the suite knows the files of an archive.

    Raises:
        ArchiveError: it does not.
    """
    try:
        schema = json.loads((archive / MARK).read_text(encoding="utf-8"))["schema"]
    except (ValueError, LookupError, TypeError) as error:
        raise ArchiveError(f"{archive / MARK} is damaged: it must be {json.dumps({'schema': SCHEMA})}") from error
    if schema != SCHEMA:
        raise ArchiveError(f"{archive} has schema {schema!r}, and this version of the suite reads schema {SCHEMA}: use a later version")


def query(archive: str, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the names of the columns, and the rows, of a query of an archive's views; both are empty if it has no rows.

    Raises:
        ArchiveError: there is no archive, the query is wrong, or DuckDB is not installed.
    """
    with opened(archive) as connection:
        found = connection.execute(sql)
        return [column[0] for column in found.description or ()], found.fetchall()


def show(connection: DuckDBPyConnection, archive: str, partitions: Iterable[Partition] | None = None) -> None:
    """Make the views of outcomes, judgements and failures show only these partitions of an open archive; None for all."""
    if partitions is None:
        partitions = [Partition(*row) for row in connection.execute("SELECT DISTINCT device, front_end, month FROM runs").fetchall()]
    wanted = sorted(partitions)
    if not wanted:
        raise ArchiveError(f"{archive} has no runs: add some with cts archive add DIR --to {archive}")
    for table in (OUTCOMES, FAILURES):
        files = [f"{archive}/{partition_path(table, partition)}" for partition in wanted]
        connection.execute(views(table, files_sql(files)))


def files_sql(files: Sequence[str]) -> str:
    """Return the SQL of a list of files."""
    return f"[{', '.join(map(quoted, files))}]"


def quoted(text: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def _register(connection: DuckDBPyConnection, url: str) -> None:
    """Let the connection read the URLs of an object store.

    Raises:
        ArchiveError: fsspec, or its package for the store, is not installed.
    """
    protocol = url.partition("://")[0]
    try:
        import fsspec

        files: Any = fsspec.filesystem(protocol)
    except (ImportError, ValueError) as error:
        raise ArchiveError(f"{url} cannot be read: {error}; for s3:// run pip install s3fs") from error
    connection.register_filesystem(files)
