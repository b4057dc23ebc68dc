"""The folder that ``cts repro`` writes: what every kind of case has in common."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from generators.errors import CtsError

README = "README.md"
DESCRIPTION = "kernel.json"
CONVERSIONS = "conversions.json"
RESULT = "result.json"

_SHADERS = ("shader.comp", "shader.frag", "shader.vert")
_FILES = (README, DESCRIPTION, CONVERSIONS, RESULT, "module.spv", "module.spvasm", *_SHADERS, "no-shader.txt")
_SUBCASE = re.compile(r"\d+-")
_HEADING = re.compile(r"# \w+\[.*\]")


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Make ``folder`` for the block to write into; first remove what an earlier reproduction wrote there, whichever its kind of case.

    Raises:
        CtsError: the folder or, in the block, a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _clear(folder)
        yield
    except OSError as error:
        raise CtsError(f"cannot write {folder}: {error.strerror}; name another folder") from error


def heading(case_id: str) -> str:
    """Return the first line of README.md, by which a reproduction is known."""
    return f"# {case_id}"


def _clear(folder: Path) -> None:
    """Remove an earlier reproduction, and nothing else that may be in ``folder``."""
    readme = folder / README
    if not readme.is_file() or not _HEADING.fullmatch(readme.read_text(encoding="utf-8", errors="replace").partition("\n")[0]):
        return
    for entry in folder.iterdir():
        if entry.is_dir() and _SUBCASE.match(entry.name):
            shutil.rmtree(entry)
        elif entry.name in _FILES:
            entry.unlink()
