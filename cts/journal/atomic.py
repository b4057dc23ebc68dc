"""Writes whole files or none."""

from __future__ import annotations

import os
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Write a file: a reader sees the old content or the new, never a part.

    Halves of characters, which UTF-8 lacks and the names of files may have, are written as ``\\udc80``.

    Raises:
        OSError: it cannot be written; nothing is left of it.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
