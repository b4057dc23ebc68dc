"""A comparison as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reports.comparison.changes import MEANINGS, Change, ChangeKind
from reports.comparison.pairs import Pair
from reports.comparison.runs import COMPARED
from reports.comparison.statistics import grown
from reports.comparison.wording import before_of, code_of, families_of, growth_of, ids_of, pace_of, rest_of, verdict_on
from reports.links import failure_place, page_beside
from reports.page_template import template
from reports.verdicts import WORDING

LISTED = 50
"""Number of cases of a group that the page names."""

GROUPS = 100
"""Number of groups of one kind that the page shows."""


def page(pairs: Sequence[Pair], beside: Path) -> str:
    """Return the page of comparisons with the same first run.

    Args:
        pairs: the comparisons.
        beside: the page's folder, to which links to the runs' case pages are relative.
    """
    runs = [pairs[0].before, *(pair.after for pair in pairs)]
    return template("compare.html").render(
        pairs=pairs,
        first=pairs[0].before,
        runs=runs,
        facts=COMPARED,
        shown=[verdict for verdict in WORDING if any(verdict in run.verdicts for run in runs)],
        kinds=tuple(ChangeKind),
        quiet=(ChangeKind.ONLY_BEFORE, ChangeKind.ONLY_AFTER),
        meanings=MEANINGS,
        listed=LISTED,
        page_of=lambda change, pair: _page_of(change, pair, beside),
        index_of=lambda run: page_beside(run.path.parent / "index.html", beside),
        most=GROUPS,
        say={
            "verdict": verdict_on,
            "rest": rest_of,
            "families": families_of,
            "before": before_of,
            "ids": ids_of,
            "pace": pace_of,
            "code": code_of,
            "growth": growth_of,
            "grown": grown,
        },
    )


def _page_of(change: Change, pair: Pair, beside: Path) -> str:
    """Return the address of a case's page in the later run that has one; empty if neither has."""
    places = (run.path.parent / failure_place(change.id) for run in (pair.after, pair.before))
    return next((address for place in places if (address := page_beside(place, beside))), "")
