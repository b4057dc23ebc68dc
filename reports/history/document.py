"""The history of cases for programs. docs/archive.md describes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reports.history.findings import Growth, broke, flakes, spells
from reports.history.groups import Group, Selection

SCHEMA = 1
"""Version of the structure."""


def document(groups: Sequence[Group], growths: Sequence[Sequence[Growth]], selection: Selection) -> dict[str, Any]:
    """Return the document: runs by name, and what happened to cases in each group.

    Args:
        groups: the runs.
        growths: for each group the cases that became slower.
        selection: what was asked for.
    """
    return {"schema": SCHEMA, "groups": [_group(group, grown, selection) for group, grown in zip(groups, growths, strict=True)]}


def _group(group: Group, grown: Sequence[Growth], selection: Selection) -> dict[str, Any]:
    shown = [place for place, changed in enumerate(group.changed) if changed or selection.names_cases]
    return {
        "device": group.device,
        "front_end": group.front_end,
        "cases": group.judged,
        "runs": [
            {"run": run.id, "name": run.name, "folder": run.folder, **run.facts, "verdicts": run.verdicts, "notes": run.notes}
            for run in group.runs
        ],
        "bad_now": [
            {"case": one.case, **vars(one.now), "first_bad": one.first_bad.id, "last_good": one.last_good.id if one.last_good else None}
            for one in broke(group)
        ],
        "flaky": [vars(one) for one in flakes(group)],
        "slower": [vars(one) for one in grown],
        "spells": [
            {
                "case": group.cases[place],
                "spells": [{**vars(one.end), "first": one.first.id, "last": one.last.id, "runs": one.runs} for one in spells(group, place)],
            }
            for place in shown
        ],
    }
