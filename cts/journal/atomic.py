"""Writes whole files or none."""

from __future__ import annotations

import os
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Write a file: a reader sees the old content or the new, never a part.

    Lone surrogates, which UTF-8 lacks and file names may have, are written as ``\\udc80``.

    Raises:
        OSError: the file cannot be written; no part of it remains.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
