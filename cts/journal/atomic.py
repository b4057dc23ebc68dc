"""Writes whole files or none, and reads only files that end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def check_regular(path: Path) -> None:
    """Check that a path is a regular file. To open a pipe or a device may block forever.

    Raises:
        OSError: it is not, or does not exist.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def write_text(path: Path, text: str) -> None:
    """Write a text as ``write_bytes`` does. Lone surrogates, which UTF-8 lacks and file names may have, are written as ``\\udc80``."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: Path, contents: bytes) -> None:
    """Write a file: a reader sees the old content or the new, never a part.

    Raises:
        OSError: the file cannot be written; no part of it remains.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(contents)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
