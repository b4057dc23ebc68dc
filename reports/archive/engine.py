"""Opens DuckDB on the files of an archive, which may be in a folder or in an object store."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
            # After its words, DuckDB quotes the query.
            raise ArchiveError(f"DuckDB: {' '.join(str(error).partition('LINE 1:')[0].split())}") from error
        finally:
            connection.close()


@dataclass(frozen=True)
class Archive:
    """An open archive.

    Attributes:
        place: its folder, or the URL of one in an object store, such as ``s3://bucket/folder``.
        connection: has the view ``runs``, and after ``show`` the other views.
    """

    place: str
    connection: DuckDBPyConnection

    def show(self, partitions: Iterable[Partition] | None = None) -> None:
        """Make the views ``outcomes``, ``judgements`` and ``failures`` show these partitions; None for all.

        Raises:
            ArchiveError: there are none.
        """
        if partitions is None:
            rows = self.connection.execute("SELECT DISTINCT device, front_end, month FROM runs").fetchall()
            partitions = [Partition(*row) for row in rows]
        wanted = sorted(partitions)
        if not wanted:
            raise ArchiveError(f"{self.place} has no runs: add some with cts archive add DIR --to {self.place}")
        for table in (OUTCOMES, FAILURES):
            files = ", ".join(quoted(f"{self.place}/{partition_path(table, partition)}") for partition in wanted)
            self.connection.execute(views(table, f"[{files}]"))


@contextmanager
def opened(place: str) -> Iterator[Archive]:
    """Yield the archive at a place.

    Raises:
        ArchiveError: there is no archive, or a later version of the suite wrote it, or DuckDB is not installed.
    """
    with connected() as connection:
        if "://" in place:
            _register(connection, place)
        check_schema(connection, place)
        connection.execute(f"CREATE VIEW runs AS SELECT * FROM read_parquet({quoted(f'{place}/{RUNS}')})")
        yield Archive(place, connection)


def check_schema(connection: DuckDBPyConnection, place: str) -> None:
    """Check that this version of the suite knows the files of an archive.

    Raises:
        ArchiveError: it does not, or there is no archive.
    """
    import duckdb

    try:
        found = connection.execute(f"SELECT content FROM read_text({quoted(f'{place}/{MARK}')})").fetchall()
    except (duckdb.IOException, OSError) as error:
        raise ArchiveError(f"{place} cannot be read: {' '.join(str(error).split())}") from error
    if not found:
        raise ArchiveError(f"{place} is no archive: it has no {MARK}")
    try:
        schema = json.loads(found[0][0])["schema"]
    except (ValueError, LookupError, TypeError) as error:
        raise ArchiveError(f"{place}/{MARK} is damaged: it must be {json.dumps({'schema': SCHEMA})}") from error
    if schema != SCHEMA:
        raise ArchiveError(f"{place} has schema {schema!r}, and this version of the suite reads schema {SCHEMA}: use a later version")


def query(place: str, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the names of the columns, and the rows, of a query of an archive's views; both are empty if it has no rows.

    Raises:
        ArchiveError: there is no archive, the query is wrong, or DuckDB is not installed.
    """
    with opened(place) as archive:
        archive.show()
        found = archive.connection.execute(sql)
        if found is None:
            raise ArchiveError("the query is empty: write one, such as SELECT * FROM runs")
        return [column[0] for column in found.description or ()], found.fetchall()


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
