"""The archive that a history is read from: the named one, or a temporary one with the runs of a folder."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from reports.archive.engine import Archive, opened
from reports.archive.schema import MARK


@contextmanager
def opened_source(source: str, renames: Mapping[str, str]) -> Iterator[Archive]:
    """Yield an archive with the runs of a source.

    Args:
        source: an archive, also as a URL, or a folder with report directories.
        renames: id that a case had in an older version of the suite -> its id.

    Raises:
        JournalError: a journal of the folder cannot be read.
        ArchiveError: the archive cannot be read, or the source has no runs.
    """
    with tempfile.TemporaryDirectory(prefix="cts-history-") as made:
        if "://" not in source and not Path(source, MARK).exists():
            _add(Path(source), Path(made), renames)
            source = made
        with opened(source) as archive:
            yield archive


def _add(folder: Path, archive: Path, renames: Mapping[str, str]) -> None:
    """Add the runs of a folder to an archive."""
    # Most archives exist, and what reads journals takes as long to import as a query of an archive.
    from cts.journal.journal import JournalError
    from reports.archive.adding import add, journals_in

    if unreadable := add(journals_in(folder), archive, renames).unreadable:
        raise JournalError(next(iter(unreadable.values())))
