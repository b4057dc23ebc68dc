"""Shows the history of cases: as text, as JSON, and as a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cts.engine.keyword_expression import KeywordExpression
from cts.journal.atomic import write_text
from generators.errors import CtsError
from reports.history.document import document
from reports.history.findings import growing
from reports.history.groups import Selection, read_groups
from reports.history.source import opened_source
from reports.history.text import text


def show_history(
    source: str,
    renames: Mapping[str, str],
    expression: KeywordExpression,
    *,
    case: str = "",
    family: str = "",
    device: str = "",
    since: str = "",
    html: Path | None = None,
    listed: int = 40,
) -> tuple[Callable[[], str], Callable[[], dict[str, Any]]]:
    """Return functions that make the history of cases for a terminal and for programs.

    Args:
        source: an archive, also as a URL, or a folder with report directories.
        renames: id that a case had in an older version of the suite -> its id.
        expression, case, family, device, since: what to show (reports.history.groups.Selection). Without a case, family or expression, the
            cases are shown whose outcome differs between runs.
        html: path of the page; None for none.
        listed: number of cases of each kind that the text names.

    Raises:
        SelectionError: no run, or too much, is selected.
        ArchiveError: the archive cannot be read, or DuckDB is not installed.
        JournalError: a journal cannot be read.
        CtsError: the page cannot be written.
    """
    selection = Selection(device=device, since=since, case=case, family=family, expression=expression)
    with opened_source(source, renames) as archive:
        # A page lets its reader search among all cases.
        wanted = selection if selection.names_cases or html is not None else selection.only_notable
        groups = list(read_groups(archive, wanted))
        if not groups:
            given = [family and f"--family {family}", expression.text and f"-k '{expression.text}'"]
            what = case or f"a case of {' '.join(filter(None, given))}"
            raise CtsError(f"no selected run judged {what}: quote an id for the shell, or search for parts of it with -k")
        growths = [[] if case else growing(archive, group, selection.condition) for group in groups]
    if html is not None:
        from reports.history.page import history_page

        try:
            write_text(html, history_page(groups, html.parent, growths))
        except OSError as error:
            raise CtsError(f"cannot write {html}: {error.strerror}; name another file") from error
    return lambda: "\n".join(text(groups, growths, selection, listed)), lambda: document(groups, growths, selection)
