"""A comparison as one HTML file that needs no other."""

from __future__ import annotations

from collections.abc import Sequence

from reports.comparison.changes import MEANINGS, Kind
from reports.comparison.pairs import Pair
from reports.comparison.runs import FACTS
from reports.comparison.wording import before_of, families_of, ids_of, pace_of, rest_of, verdict_on
from reports.page_template import template
from reports.verdicts import WORDING

LISTED = 50
"""Cases of a group that the page names."""

GROUPS = 100
"""Groups of one kind that the page shows."""


def page(pairs: Sequence[Pair]) -> str:
    """Return the page of comparisons with the same first run."""
    runs = [pairs[0].before, *(pair.after for pair in pairs)]
    return template("compare.html").render(
        pairs=pairs,
        first=pairs[0].before,
        runs=runs,
        facts=FACTS,
        shown=[verdict for verdict in WORDING if any(verdict in run.verdicts for run in runs)],
        kinds=tuple(Kind),
        quiet=(Kind.ONLY_BEFORE, Kind.ONLY_AFTER),
        meanings=MEANINGS,
        listed=LISTED,
        most=GROUPS,
        say={"verdict": verdict_on, "rest": rest_of, "families": families_of, "before": before_of, "ids": ids_of, "pace": pace_of},
    )
