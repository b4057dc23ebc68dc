"""A comparison as JSON. docs/compare.md describes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from cts.journal.outline import Outline
from reports.causes.document import document as box
from reports.comparison.groups import Group
from reports.comparison.pairs import Pair
from reports.comparison.runs import ComparedRun

SCHEMA = 2
"""Version of the document. Fields may be added to it; none of these changes its meaning."""


def document(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the document: runs, and each comparison with the first of them."""
    runs = [pairs[0].before, *(pair.after for pair in pairs)]
    return {
        "schema": SCHEMA,
        "regressions": sum(pair.regressions for pair in pairs),
        "runs": [_run(run) for run in runs],
        "comparisons": [_comparison(pair) for pair in pairs],
    }


def _run(run: ComparedRun) -> dict[str, Any]:
    return {
        "name": run.name,
        "journal": str(run.path),
        **run.facts,
        "cases": len(run.cases),
        "verdicts": run.verdicts,
        "notes": run.notes,
        "faults": [str(fault) for fault in run.faults],
    }


def _comparison(pair: Pair) -> dict[str, Any]:
    return {
        "before": pair.before.name,
        "after": pair.after.name,
        "differences": [{"what": one.key, "before": one.before, "after": one.after} for one in pair.differences],
        "compared": pair.compared,
        "same": pair.same,
        "still_failing": pair.still_failing,
        "regressions": pair.regressions,
        "new_quality_warnings": pair.quality,
        "new_resource_errors": pair.exhausted,
        "counts": pair.counts,
        "groups": [_group(group) for group in pair.groups],
        "times": {
            "not_compared": pair.times.why_not,
            "paces": pair.times.paces,
            "slower": [asdict(one) for one in (*pair.times.families, *pair.times.cases)],
        },
        "code": asdict(pair.code),
    }


def _group(group: Group) -> dict[str, Any]:
    return {
        "kind": group.kind,
        "families": group.families,
        "before": asdict(group.before),
        "after": asdict(group.after),
        "verdicts_before": group.verdicts_before,
        "reason": group.reason,
        "decided": group.decided,
        "boxes": [box(inside) for inside in group.inside],
        "outside": group.outside,
        "cases": [{"id": change.id, "before": _ended(change.before), "after": _ended(change.after)} for change in group.changes],
    }


def _ended(outline: Outline | None) -> dict[str, Any] | None:
    if outline is None:
        return None
    return {"verdict": outline.verdict, "code": outline.code, "defects": outline.defects, "known": outline.known}
