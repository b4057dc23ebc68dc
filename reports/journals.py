"""Reads journals for reports: one or several ``results.jsonl``, each with an optional ``meta.json`` beside it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern
from typing import Any, get_type_hints

from cts.journal import journal
from cts.journal.journal import Fault, MetaReader, Opener
from cts.journal.run_record import RunRecord
from cts.verdict.verdict import CaseResult

Key = tuple[str, int]
"""Key of a result: the id of a case, and the number of the attempt."""

MOST_FAULTS = 10
"""Maximum number of wrong lines and fields that reports name."""

_TEXTS = tuple(name for name, kind in get_type_hints(CaseResult).items() if kind is str and name != "id")
"""The fields of a result that are texts and occur in many results."""


@dataclass(frozen=True)
class Run:
    """The results of a run.

    Attributes:
        journals: the files.
        results: the last result of each attempt at a case, ordered by id and attempt. Their failures are brief: see whole_results.
        metas: the ``meta.json`` of each journal that has one, in the order of the journals.
        dropped: number of lines without a result; their cases count as not judged.
        faults: the first faults of journals and metas.
        places: the position of each result with failures: the index of the journal, and the byte offset of the line.
    """

    journals: tuple[Path, ...]
    results: tuple[CaseResult, ...]
    metas: tuple[RunRecord, ...] = ()
    dropped: int = 0
    faults: tuple[Fault, ...] = ()
    places: Mapping[Key, tuple[int, int]] = field(default_factory=dict, repr=False)


def read(journals: Path | Sequence[Path], opened: Opener = journal.opened, read_meta: MetaReader = journal.read_meta) -> Run:
    """Return the merged content of the journals. If there are several results for one attempt at a case, the last one wins, in the order of
    journals and lines.

    Args:
        journals: each a ``results.jsonl``, which may be compressed, or the directory that holds it.
        opened: opens a journal.
        read_meta: reads the record of a journal's run.

    Raises:
        JournalError: a journal cannot be read.
    """
    given = [journals] if isinstance(journals, Path) else journals
    paths = tuple(journal.journal_of(path) if path.is_dir() else path for path in given)
    faults = FaultCount()
    latest: dict[Key, CaseResult] = {}
    places: dict[Key, tuple[int, int]] = {}
    known: dict[Hashable, Any] = {}
    for number, path in enumerate(paths):
        for place, result in journal.read_with_places(path, faults.line, opened):
            key = key_of(result)
            latest[key] = _brief(result, known)
            places.pop(key, None)
            if result.failures:
                places[key] = number, place
    metas = tuple(meta for path in paths if (meta := read_meta(path.parent, faults.other)))
    return Run(paths, tuple(latest[key] for key in sorted(latest)), metas, faults.lines, tuple(faults.first), places)


def key_of(result: CaseResult) -> Key:
    """Return the key of a result."""
    return result.id, result.attempt


def in_order(run: Run, wanted: Collection[Key]) -> list[CaseResult]:
    """Return the results of these attempts at cases in the order of ``whole_results``."""
    found = [result for result in run.results if key_of(result) in wanted]
    return sorted(found, key=lambda result: run.places.get(key_of(result), (-1, 0)))


def whole_results(run: Run, wanted: Collection[Key]) -> Iterator[CaseResult]:
    """Yield the results of these attempts at cases with all of their failures: first the results without any, then the others, in the order
    of the journals.

    Raises:
        JournalError: a journal cannot be read, or its content has changed.
    """
    yield from (result for result in run.results if key_of(result) in wanted and not result.failures)
    lines: defaultdict[int, list[int]] = defaultdict(list)
    for key in wanted:
        if key in run.places:
            number, place = run.places[key]
            lines[number].append(place)
    for number in sorted(lines):
        path, places = run.journals[number], sorted(lines[number])
        for place, result in zip(places, journal.read_at(path, places), strict=True):
            if run.places.get(key_of(result)) != (number, place):
                raise journal.JournalError(f"{path} was changed while it was read: read it again when nothing writes to it")
            yield result


class FaultCount:
    """Counts the faults of journals, and keeps the first.

    Attributes:
        lines: number of unreadable lines.
        first: at most MOST_FAULTS faults, in the order of discovery.
    """

    def __init__(self) -> None:
        self.lines = 0
        self.first: list[Fault] = []

    def line(self, fault: Fault) -> None:
        """Add an unreadable line."""
        self.lines += 1
        self.other(fault)

    def other(self, fault: Fault) -> None:
        """Add a fault that loses no line."""
        if len(self.first) < MOST_FAULTS:
            self.first.append(fault)


def _brief(result: CaseResult, known: dict[Hashable, Any]) -> CaseResult:
    """Return a result with brief failures. Texts equal to earlier ones become the same object, since most texts occur thousands of times in
    a journal."""
    # A copy by replace() would check all texts again, which takes as long as reading them.
    brief = copy(result)
    values = vars(brief)
    for name in _TEXTS:
        values[name] = intern(getattr(result, name))
    values["requirements"] = known.setdefault(result.requirements, result.requirements)
    values["positions"] = known.setdefault(result.positions, result.positions)
    values["parameters"] = dict(zip(map(intern, result.parameters), map(intern, result.parameters.values()), strict=True))
    values["steps"] = dict(zip(map(intern, result.steps), result.steps.values(), strict=True))
    values["failures"] = tuple(failure.brief for failure in result.failures)
    return brief
