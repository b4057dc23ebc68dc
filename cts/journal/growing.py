"""Reads a journal while others write it."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from cts.journal.atomic import check_regular


class _Growing(io.BufferedReader):
    def __init__(self, path: Path, grows: Callable[[], bool]) -> None:
        super().__init__(io.FileIO(path))
        self._grows: Callable[[], bool] | None = grows

    def readline(self, size: int | None = -1, /) -> bytes:
        """Return the next line. A line without its end is returned only if it is too long, or if nobody can write the rest."""
        while True:
            place = self.tell()
            line = super().readline(size)
            if line.endswith(b"\n") or len(line) == size or self._grows is None:
                return line
            self.seek(place)
            if not self._grows():
                # What was written before the end is still to be read.
                self._grows = None


def growing(path: Path, grows: Callable[[], bool]) -> BinaryIO:
    """Open a journal that others write. Its end is reached when they have ended.

    Args:
        path: as for cts.journal.journal.opened; not compressed.
        grows: called when everything is read: waits for more, and tells whether there may be any.

    Raises:
        OSError: it cannot be opened, or is not a regular file.
    """
    check_regular(path)
    return _Growing(path, grows)
