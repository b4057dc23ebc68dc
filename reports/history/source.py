"""The archive that a history is read from: the named one, or a temporary one with the runs of a folder."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from reports.archive.engine import check_schema
from reports.archive.schema import MARK


@contextmanager
def opened_source(source: str, renames: Mapping[str, str]) -> Iterator[str]:
    """Yield the place of an archive with the runs of a source.

    Args:
        source: an archive, also as a URL, or a folder with report directories.
        renames: id that a case had in an older version of the suite -> its id.

    Raises:
        JournalError: a journal of the folder cannot be read.
        ArchiveError: the archive cannot be read, or the source has no runs.
    """
    if "://" in source:
        yield source
    elif (Path(source) / MARK).exists():
        check_schema(Path(source))
        yield source
    else:
        # An archive is read without what reads journals, which takes as long to import as a query.
        from cts.journal.journal import JournalError
        from reports.archive.adding import add, journals_in

        journals = journals_in(Path(source))
        with tempfile.TemporaryDirectory(prefix="cts-history-") as made:
            if unreadable := add(journals, Path(made), renames).unreadable:
                raise JournalError(next(iter(unreadable.values())))
            yield made
