"""The history of cases for a terminal, and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from cts.engine.keyword_expression import KeywordExpression
from cts.engine.tally import phrase
from cts.journal.atomic import write_text
from generators.errors import CtsError
from reports.formats import count
from reports.history import Broke, End, History, PastRun, read_history
from reports.history_page import history_page
from reports.verdicts import WORDING


def show_history(folder: Path, renames: Mapping[str, str], expression: KeywordExpression, html: Path | None, listed: int) -> str:
    """Return the text for a terminal about the runs of a folder.

    Args:
        folder: holds report directories.
        renames: id that a case had in an older version of the suite -> its id.
        expression: show the cases whose ids match; if it is empty, the cases whose outcome differs between runs.
        html: path of the page of all cases; None for none.
        listed: number of cases that the text names.

    Raises:
        HistoryError: there is no journal.
        JournalError: one cannot be read.
        CtsError: the page cannot be written.
    """
    history = read_history(folder, renames)
    if html is not None:
        try:
            write_text(html, history_page(history, html.parent))
        except OSError as error:
            raise CtsError(f"cannot write {html}: {error.strerror}; name another file") from error
    return "\n".join(_lines(history, expression, listed)) + "\n"


def _lines(history: History, expression: KeywordExpression, listed: int) -> Iterator[str]:
    for number, run in enumerate(history.runs, 1):
        facts = run.facts
        about = (facts["started"], facts["driver"] or facts["device"], facts["tier"], facts["suite_version"])
        yield f"{number:3d}  {run.name}: {', '.join(part for part in about if part)}"
        yield f"     {phrase(run.verdicts)}"
        yield from (f"     note: the run {note}; cases may be missing" for note in run.notes)
    yield ""
    found = [id_ for id_ in history.ends if expression.selects_id(id_)] if expression.text else list(history.changed())
    which = f"match -k '{expression.text}'" if expression.text else "did not end in the same way in all runs"
    if not expression.text and not found:
        yield f"no case changed: {count(len(history.ends), 'case')} in all"
        return
    yield f"{count(len(found), 'case')} of {count(len(history.ends), 'case')} {which}; one mark for each run: {_legend(history)}"
    for id_ in found[:listed]:
        yield f"  {''.join(_mark(end) for end in history.ends[id_])}  {id_}"
        yield from (f"  {' ' * len(history.runs)}  {_broke(one)}" for one in history.broke(id_) if one.last_good is not None)
    if len(found) > listed:
        yield f"  and {len(found) - listed:,} more: --cases N names more, --html FILE has all"


def _broke(broke: Broke) -> str:
    assert broke.last_good is not None, "a case that never passed did not break"
    return f"first bad: {_named(broke.first_bad)}; last good: {_named(broke.last_good)}"


def _named(run: PastRun) -> str:
    facts = run.facts
    return f"{run.name} ({', '.join(filter(None, (facts['driver'] or facts['device'], facts['suite_version'])))})"


def _mark(end: End | None) -> str:
    return "·" if end is None else WORDING[end.verdict].mark


def _legend(history: History) -> str:
    shown = (verdict for verdict in WORDING if any(verdict in run.verdicts for run in history.runs))
    return ", ".join((*(f"{WORDING[verdict].mark} {WORDING[verdict].label.lower()}" for verdict in shown), "· not judged"))
