"""How this layer reaches the one above it: reports are written by what is registered under the entry point group ``cts.reports``."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path

GROUP = "cts.reports"
UNINSTALLED = "reports:write"

ReportWriter = Callable[[Path, Path], Sequence[str]]
"""Takes the journal and the directory to write to. Returns what is wrong with the journal, a line each."""


def report_writer() -> ReportWriter:
    """Return the registered writer; in a checkout that is not installed, which has no entry points, the one that the project registers."""
    for point in entry_points(group=GROUP):
        writer: ReportWriter = point.load()
        return writer
    unregistered: ReportWriter = pkgutil.resolve_name(UNINSTALLED)
    return unregistered
