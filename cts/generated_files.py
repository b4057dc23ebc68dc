"""Keeps up to date what commands write into the checkout: whole files, and parts of pages between markers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cts.journal.atomic import write_text


def bring_up_to_date(files: Iterable[tuple[Path, str]], command: str, check: bool) -> int:
    """Write the files whose contents differ, and name them on standard output.

    Args:
        files: each file and its contents, which are made when the file before it is written.
        command: the command that writes them, for people.
        check: whether to write nothing.

    Returns:
        The exit code: 1 if ``check`` found a file that is not up to date.
    """
    stale = 0
    for path, contents in files:
        if path.exists() and path.read_text(encoding="utf-8") == contents:
            continue
        stale += 1
        print(f"{path.name}: {f'stale; run {command}' if check else 'written'}")
        if not check:
            path.parent.mkdir(exist_ok=True)
            write_text(path, contents)
    return 1 if check and stale else 0


def replaced(page: str, name: str, text: str) -> str:
    """Return ``page`` with a new text between the markers of ``name``; unchanged if it has no markers."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, found, rest = page.partition(begin)
    if not found:
        return page
    return f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}"
