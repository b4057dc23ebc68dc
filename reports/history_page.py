"""The history of cases as one self-contained HTML file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from generators.casebook.ids import family_of
from reports.history import End, History
from reports.links import page_beside
from reports.page_template import template
from reports.verdicts import SEVERITY, WORDING


def history_page(history: History, beside: Path) -> str:
    """Return the page.

    Args:
        history: the runs.
        beside: the page's folder, to which links to the pages of the runs are relative.
    """
    return template("history.html").render(
        runs=history.runs,
        shown=[verdict for verdict in WORDING if any(verdict in run.verdicts for run in history.runs)],
        indexes=[page_beside(run.folder / "index.html", beside) for run in history.runs],
        changed=sum(1 for _ in history.changed()),
        table=history_table(history),
    )


def history_table(history: History) -> Mapping[str, Any]:
    """Return all cases, compact: each is [family, labels, strip], where family and strip are indices into the lists of that name, and a
    strip has for each run the index of an end, -1 if the run did not judge the case."""
    families: defaultdict[str, int] = defaultdict(lambda: len(families))
    ends: defaultdict[End, int] = defaultdict(lambda: len(ends))
    strips: defaultdict[tuple[int, ...], int] = defaultdict(lambda: len(strips))
    rows = []
    for id_, each in history.ends.items():
        family = family_of(id_)
        strip = strips[tuple(-1 if end is None else ends[end] for end in each)]
        rows.append((families[family], id_.removeprefix(family), strip))
    return {
        "families": list(families),
        "verdicts": [[verdict, one.label, one.mark] for verdict, one in WORDING.items()],
        "ends": [[SEVERITY[end.verdict], end.code, end.known] for end in ends],
        "strips": list(strips),
        "runs": [[run.name, run.facts["started"], run.facts["driver"] or run.facts["device"]] for run in history.runs],
        "cases": rows,
    }
