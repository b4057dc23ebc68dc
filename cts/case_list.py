"""Case lists: a case id per line, ``#`` begins a comment, and a line that ends in ``.txt`` names another list."""

from __future__ import annotations

from pathlib import Path

from generators.errors import CtsError


class CaseListError(CtsError):
    """A case list cannot be read; the message names file and line."""


def read_case_list(path: Path) -> dict[str, str]:
    """The ids in a case list, in order, each with the place that it was first named in (``"FILE:LINE"``).

    Paths of further lists are relative to the list that names them. An id may carry the path of its family's file, as pytest
    prints it (``cases/…/load_store.yaml::load_store[…]``); the path is dropped.

    Raises:
        CaseListError: a list cannot be read, or names itself.
    """
    ids: dict[str, str] = {}
    _read(path, ids, ())
    return ids


def _read(path: Path, ids: dict[str, str], above: tuple[Path, ...]) -> None:
    place = path.resolve()
    if place in above:
        raise CaseListError(f"case list {path} names itself: {' > '.join(p.name for p in (*above, place))}")
    try:
        # Editors on Windows begin a file with a byte order mark.
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        named = f" (named by {above[-1]})" if above else ""
        raise CaseListError(f"cannot read the case list {path}{named}: {why}") from error
    for number, line in enumerate(lines, 1):
        entry = line.partition("#")[0].strip()
        if not entry:
            continue
        if entry.endswith(".txt"):
            _read(path.parent / entry, ids, (*above, place))
        else:
            ids.setdefault(entry.rpartition("::")[2], f"{path}:{number}")
