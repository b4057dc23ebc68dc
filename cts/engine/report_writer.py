"""Finds the functions of the reports layer, which this layer may not import."""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from cts.engine.keyword_expression import KeywordExpression

if TYPE_CHECKING:
    from cts.journal.journal import MetaReader, Opener
    from generators.casebook import Casebook

REGISTERED = {
    "write": "reports:write",
    "text": "reports.text:text",
    "compare": "reports.comparison.compare:compare",
    "history": "reports.history.show:show_history",
    "add": "reports.archive.adding:add",
    "journals_in": "reports.archive.adding:journals_in",
    "query": "reports.archive.engine:query",
}
"""The functions of the layer above, by name. They are named here and not found by entry points, which any installed package may add."""


class ReportWriter(Protocol):
    """Writes the reports of a journal, and returns the faults of the journal, one line each: reports.write."""

    def __call__(
        self,
        results: Path | Sequence[Path],
        directory: Path,
        history: str | None = None,
        casebook: Casebook | None = None,
        processes: int = 1,
        opened: Opener = ...,
        read_meta: MetaReader = ...,
        every_case: bool | None = None,
    ) -> Sequence[str]: ...


ReportText = Callable[[Path], str]
"""Takes the directory of a report. Returns its text for a terminal."""


class Compared(Protocol):
    """The result of a comparison of runs: reports.comparison.compare.Compared."""

    @property
    def text(self) -> str: ...
    @property
    def document(self) -> Mapping[str, Any]: ...
    @property
    def regressions(self) -> int: ...
    @property
    def quality(self) -> int: ...
    @property
    def exhausted(self) -> int: ...
    @property
    def slower(self) -> int: ...
    @property
    def incomparable(self) -> Sequence[str]: ...


class Comparer(Protocol):
    """Compares runs with the first of them: reports.comparison.compare.compare."""

    def __call__(
        self, journals: Sequence[Path], renames: Mapping[str, str], *, html: Path | None, common: bool, listed: int
    ) -> Compared: ...


class Historian(Protocol):
    """Shows how cases ended in runs: reports.history.show.show_history."""

    def __call__(
        self,
        source: str,
        renames: Mapping[str, str],
        expression: KeywordExpression,
        *,
        case: str,
        family: str,
        device: str,
        since: str,
        html: Path | None,
        listed: int,
    ) -> tuple[Callable[[], str], Callable[[], Mapping[str, Any]]]: ...


class Addition(Protocol):
    """The result of adding runs to an archive: reports.archive.adding.Addition."""

    @property
    def added(self) -> Sequence[Path]: ...
    @property
    def present(self) -> Sequence[Path]: ...
    @property
    def unreadable(self) -> Mapping[Path, str]: ...


class Archivist(NamedTuple):
    """The functions of reports.archive that ``cts archive`` needs."""

    add: Callable[[Sequence[Path], Path, Mapping[str, str]], Addition]
    journals_in: Callable[[Path], Sequence[Path]]
    query: Callable[[str, str], tuple[Sequence[str], Sequence[tuple[Any, ...]]]]


def report_writer() -> ReportWriter:
    """Return the registered writer of reports."""
    return cast(ReportWriter, _registered("write"))


def report_text() -> ReportText:
    """Return the registered function that shows a report in a terminal."""
    return cast(ReportText, _registered("text"))


def comparer() -> Comparer:
    """Return the registered comparison of runs."""
    return cast(Comparer, _registered("compare"))


def historian() -> Historian:
    """Return the registered history of runs."""
    return cast(Historian, _registered("history"))


def archivist() -> Archivist:
    """Return the registered functions of archives."""
    return Archivist(*(cast(Any, _registered(name)) for name in Archivist._fields))


MOST_PROCESSES = 8
"""How many processes make pages at most: with more, the reports that one process makes take longer than the pages."""


def processes() -> int:
    """Return how many processes may make pages at the same time."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(here, MOST_PROCESSES)


def _registered(name: str) -> object:
    """Return the function that this project registers under a name. No other package can replace it."""
    return pkgutil.resolve_name(REGISTERED[name])
