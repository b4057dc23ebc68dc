"""Compares runs, and writes what has changed as text, as a document, and as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cts.journal.atomic import write_text
from generators.errors import CtsError
from reports.comparison.document import document
from reports.comparison.page import page
from reports.comparison.pairs import pairs
from reports.comparison.runs import read_runs
from reports.comparison.text import text


@dataclass(frozen=True)
class Compared:
    """The result of a comparison.

    Attributes:
        text: for a terminal.
        document: for programs.
        regressions: see reports.comparison.pairs.Pair.regressions; of all runs after the first.
        quality: number of cases that passed before and are now a quality warning.
        exhausted: number of cases that passed before and now run out of memory.
        slower: number of slower families and cases.
        incomparable: names of the runs that share no case with the first.
    """

    text: str
    document: dict[str, Any]
    regressions: int
    quality: int
    exhausted: int
    slower: int
    incomparable: tuple[str, ...]


def compare(
    journals: Sequence[Path], renames: Mapping[str, str], html: Path | None = None, common: bool = False, listed: int = 5
) -> Compared:
    """Compare each run after the first with the first.

    Args:
        journals: two or more; each a ``results.jsonl``, which may be compressed, or the directory that holds it.
        renames: id that a case had in an older version of the suite -> its id.
        html: path of the page to write; None for none.
        common: whether to compare only cases that both runs have.
        listed: number of cases of each group that the text names.

    Raises:
        JournalError: a journal cannot be read.
        CtsError: the page cannot be written.
    """
    found = pairs(read_runs(journals, renames), common)
    if html is not None:
        try:
            write_text(html, page(found, html.parent))
        except OSError as error:
            raise CtsError(f"cannot write {html}: {error.strerror}; name another file") from error
    return Compared(
        text(found, listed),
        document(found),
        sum(pair.regressions for pair in found),
        sum(pair.quality for pair in found),
        sum(pair.exhausted for pair in found),
        sum(pair.times.slower for pair in found),
        tuple(pair.after.name for pair in found if not pair.compared),
    )
