"""Reports made from a journal: for people, for continuous integration and for programs."""

from reports.journals import Run, read
from reports.summary import Summary, summarise
from reports.writer import ReportError, write

__all__ = ["ReportError", "Run", "Summary", "read", "summarise", "write"]
