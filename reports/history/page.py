"""The history of cases as one self-contained HTML file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from generators.casebook.ids import family_of
from reports.history.findings import Growth, broke, flakes
from reports.history.groups import Group
from reports.links import page_beside
from reports.page_template import template
from reports.verdicts import SEVERITY, WORDING

LISTED_RUNS = 20
"""How many of the newest runs of a group the page describes."""

MOST_ROWS = 100_000
"""The most cases on a page that also has those that always ended well. With more, it has only the others."""


def history_page(groups: Sequence[Group], beside: Path, growths: Sequence[Sequence[Growth]] = ()) -> str:
    """Return the page.

    Args:
        groups: the runs.
        beside: the page's folder, to which links to the pages of the runs are relative.
        growths: for each group the cases that became slower.
    """
    table = history_table(groups)
    return template("history.html").render(
        groups=groups,
        listed=LISTED_RUNS,
        index=lambda run: page_beside(Path(run.folder, "index.html"), beside),
        changed=sum(int(group.changed.sum()) for group in groups),
        broken=[(group, broke(group)) for group in groups],
        flaky=[(group, flakes(group)) for group in groups],
        slower=list(zip(groups, growths, strict=False)),
        table=table,
        runs=sum(len(group.runs) for group in groups),
        cases=len({id_ for group in groups for id_ in group.cases}),
    )


def history_table(groups: Sequence[Group]) -> Mapping[str, Any]:
    """Return all cases, compact: each is [group, family, labels, strip], where group, family and strip are indices into the lists of that
    name. A strip is a list of pairs, end and number of runs after one another that ended so: the index of an end, -1 if the runs did not
    judge the case."""
    families: defaultdict[str, int] = defaultdict(lambda: len(families))
    ends: defaultdict[tuple[int, str, str], int] = defaultdict(lambda: len(ends))
    strips: defaultdict[tuple[int, ...], int] = defaultdict(lambda: len(strips))
    rows = []
    everything = sum(len(group.cases) for group in groups) <= MOST_ROWS
    for number, group in enumerate(groups):
        shown = {index: ends[SEVERITY[end.verdict], end.code, end.known] for index, end in enumerate(group.ends)} | {-1: -1}
        # Most strips of a group are equal.
        known: dict[bytes, int] = {}
        for id_, strip, changed in zip(group.cases, group.strips, group.changed, strict=True):
            if everything or changed:
                if (key := strip.tobytes()) not in known:
                    known[key] = strips[tuple(part for end, run in groupby(strip.tolist()) for part in (shown[end], len(list(run))))]
                family = family_of(id_)
                rows.append((number, families[family], id_.removeprefix(family), known[key]))
    return {
        "families": list(families),
        "verdicts": [[verdict, one.label, one.mark] for verdict, one in WORDING.items()],
        "ends": list(ends),
        "strips": list(strips),
        "groups": [
            {
                "name": ", ".join(filter(None, (group.device, group.front_end))),
                "runs": [[run.name, run.facts["started"], run.facts["driver"] or run.facts["device"]] for run in group.runs],
            }
            for group in groups
        ],
        "cases": rows,
        "everything": everything,
    }
