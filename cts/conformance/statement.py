"""``statement.json``: what a package claims, all of it derived from its other members and the suite."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from cts.conformance.owed import why_not_owed
from cts.conformance.suite import Suite
from cts.conformance.waivers import Waiver
from cts.devices.device import DeviceDescription
from cts.journal.run_record import RunRecord
from cts.verdict.verdict import CaseResult
from generators.casebook import Case
from generators.casebook.tiers import pinned_digests
from generators.digests import digest

FORMAT = 1

_OF_DEVICE = ("name", "driver", "uuid", "kind", "api_version")
_OF_RUN = ("tier", "front_end", "rounds", "validation", "host", "environment", "command", "started", "finished", "known_failures")


def statement(
    suite: Suite,
    meta: RunRecord,
    description: DeviceDescription,
    cases: Iterable[Case],
    results: Mapping[str, CaseResult],
    waivers: Iterable[Waiver],
) -> dict[str, Any]:
    """Return the statement of a run.

    Args:
        suite: the suite that ran.
        meta: the description of the run.
        description: the description of the device.
        cases: the cases of the run.
        results: the result of each case by id.
        waivers: the known failures that the run needed.
    """
    verdicts: dict[str, Counter[str]] = {}
    parts, not_owed = [], Counter[str]()
    for case in cases:
        why, result = why_not_owed(case), results.get(case.id)
        if why:
            not_owed[why] += 1
            continue
        parts.append("\t".join((case.id, *pinned_digests(case.definition).get(case.id, ()))).encode())
        verdicts.setdefault(case.definition.specification, Counter())[result.verdict if result else "missing"] += 1
    return {
        "format": FORMAT,
        "suite": {"version": meta.get("suite_version", ""), "folders": dict(suite.digests)},
        "device": {name: getattr(description, name) for name in _OF_DEVICE}
        | {"conformance_version": description.extra.get("conformance_version", ""), "digest": meta.get("device", {}).get("digest", "")},
        "run": {name: meta.get(name, "") for name in _OF_RUN},
        "owed": {
            "cases": len(parts),
            "digest": digest(parts),
            "verdicts": {name: dict(sorted(counts.items())) for name, counts in sorted(verdicts.items())},
            "left_out": dict(sorted(not_owed.items())),
        },
        "waivers": [waiver.record for waiver in waivers],
    }


def encoded(document: Mapping[str, Any]) -> bytes:
    """Return a statement as JSON, always the same bytes for the same statement."""
    return (json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
