"""How this layer reaches the one above it: what is registered under the entry point group ``cts.reports``."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol, cast

GROUP = "cts.reports"
UNINSTALLED = {"write": "reports:write", "text": "reports.text:text", "compare": "reports.comparison:compare"}
"""What the project registers, by name."""

ReportWriter = Callable[[Path, Path], Sequence[str]]
"""Takes the journal and the directory to write to. Returns what is wrong with the journal, a line each."""

ReportText = Callable[[Path], str]
"""Takes the directory of a report. Returns what a terminal shows of it."""


class Compared(Protocol):
    """What a comparison of runs found: reports.comparison.Compared."""

    @property
    def text(self) -> str: ...
    @property
    def document(self) -> Mapping[str, Any]: ...
    @property
    def regressions(self) -> int: ...
    @property
    def quality(self) -> int: ...
    @property
    def slower(self) -> int: ...
    @property
    def incomparable(self) -> Sequence[str]: ...


class Comparer(Protocol):
    """Compares runs with the first of them: reports.comparison.compare."""

    def __call__(
        self, journals: Sequence[Path], renames: Mapping[str, str], *, html: Path | None, common: bool, listed: int
    ) -> Compared: ...


def report_writer() -> ReportWriter:
    """Return the registered writer of reports."""
    return cast(ReportWriter, _registered("write"))


def report_text() -> ReportText:
    """Return what is registered to show a report in a terminal."""
    return cast(ReportText, _registered("text"))


def comparer() -> Comparer:
    """Return the registered comparison of runs."""
    return cast(Comparer, _registered("compare"))


def _registered(name: str) -> object:
    """Return what is registered under a name; what the project registers, in a checkout that is not installed."""
    for point in entry_points(group=GROUP, name=name):
        return point.load()
    return pkgutil.resolve_name(UNINSTALLED[name])
