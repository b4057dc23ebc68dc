"""Reports made from a journal: for people, for continuous integration and for programs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reports.journals import Run, read
    from reports.summary import Summary, summarise
    from reports.writer import ReportError, write

__all__ = ["ReportError", "Run", "Summary", "read", "summarise", "write"]

_MODULES = {"ReportError": "writer", "Run": "journals", "Summary": "summary", "read": "journals", "summarise": "summary", "write": "writer"}


def __getattr__(name: str) -> Any:
    # Comparisons and histories need no writer, which takes most of the time to import.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
