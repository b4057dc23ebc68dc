"""Case lists: one case id per line. ``#`` begins a comment, and a line that ends in ``.txt`` names another list."""

from __future__ import annotations

from pathlib import Path

from generators.bounded_files import Unreadable, read_text
from generators.errors import CtsError

_MOST_BYTES = 1 << 28
"""The largest size of a list, enough for more than a million ids."""

_MOST_LISTS = 50
"""How deep lists may be nested."""


class CaseListError(CtsError):
    """A case list cannot be read; the message names file and line."""


def read_case_list(path: Path) -> dict[str, str]:
    """Return the ids in a case list, in order, each with the place that names it first (``"FILE:LINE"``).

    Paths of further lists are relative to the list that names them. An id may carry the path of its family's file, as pytest
    prints it (``cases/…/load_store.yaml::load_store[…]``); the path is dropped.

    Raises:
        CaseListError: a list cannot be read, or names itself.
    """
    ids: dict[str, str] = {}
    _read(path, ids, (), set())
    return ids


def _read(path: Path, ids: dict[str, str], above: tuple[Path, ...], done: set[Path]) -> None:
    """Add the ids of a list to ``ids``. ``above`` has the lists that lead to it; ``done`` has the lists that are already read."""
    named = f" (named by {above[-1]})" if above else ""
    try:
        place = path.resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise CaseListError(f"cannot read the case list {path}{named}: {error}") from error
    if place in done:
        return
    if len(above) >= _MOST_LISTS:
        raise CaseListError(f"cannot read the case list {path}{named}: case lists are nested more than {_MOST_LISTS} deep")
    if place in above:
        raise CaseListError(f"case list {path} names itself: {' > '.join(p.name for p in (*above, place))}")
    try:
        lines = read_text(path, _MOST_BYTES).splitlines()
    except Unreadable as error:
        raise CaseListError(f"cannot read the case list {path}{named}: {error}") from error
    name = str(path)
    for number, line in enumerate(lines, 1):
        entry = line.partition("#")[0].strip()
        if not entry:
            continue
        if entry.endswith(".txt"):
            _read(path.parent / entry, ids, (*above, place), done)
        else:
            ids.setdefault(entry.rpartition("::")[2], f"{name}:{number}")
    done.add(place)
