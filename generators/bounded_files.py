"""Reads files that a user names, however large they are."""

from __future__ import annotations

from pathlib import Path

from generators.errors import CtsError


class Unreadable(CtsError):
    """A file cannot be read; the text says why, and does not name the file.

    Attributes:
        line: the line that cannot be read, from 1; 0 if it is none in particular.
    """

    def __init__(self, why: str, line: int = 0) -> None:
        super().__init__(why)
        self.line = line


def read_bytes(path: Path, most: int) -> bytes:
    """Return the contents of a file, which may also be a pipe.

    Args:
        most: the largest number of bytes to accept. A device without an end is read no further.

    Raises:
        Unreadable: the file cannot be read, or is longer.
    """
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from error
    if len(data) > most:
        raise Unreadable(f"it is longer than {most:,} bytes")
    return data


def read_text(path: Path, most: int) -> str:
    """Return the text of a file in UTF-8, without the byte order mark that editors on Windows write.

    Raises:
        Unreadable: see ``read_bytes``; or it is not UTF-8.
    """
    data = read_bytes(path, most)
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise Unreadable("it is not UTF-8", data.count(b"\n", 0, error.start) + 1) from error
