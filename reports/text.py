"""The text of a report for a terminal."""

from __future__ import annotations

import json
from pathlib import Path

from reports.causes import NAMED_DEFECTS
from reports.formats import count
from reports.verdicts import WORDING

LISTED = 20
"""Maximum number of causes shown; ``summary.json`` has all."""


def text(directory: Path) -> str:
    """Return the headline of a report and its causes, the most severe first, each with the parameters that decide whether a case fails.

    Args:
        directory: the report's directory, whose ``summary.json`` is read.
    """
    summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    lines = [summary["headline"]["title"], summary["headline"]["detail"]]
    causes = summary["causes"]
    for cause in causes[:LISTED]:
        families = ", ".join(
            f"{family} ({cases:,})" if len(cause["families"]) > 1 else family for family, cases in cause["families"].items()
        )
        lines += ["", f"{WORDING[cause['verdict']].label}: {count(len(cause['cases']), 'case')} of {families}: {cause['cause']}"]
        if names := ", ".join(filter(None, (cause["known"], *cause["codes"], *cause["defects"][:NAMED_DEFECTS]))):
            lines.append(f"    {names}")
        lines += [f"    {sentence}" for sentence in cause["decided"]]
        lines.append(f"    for example {cause['cases'][0]['id']}")
    if len(causes) > LISTED:
        lines += ["", f"and {count(len(causes) - LISTED, 'more cause')}: see summary.json"]
    return "\n".join(lines) + "\n"
