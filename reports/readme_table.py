"""The README's table of published runs.

python -m reports.readme_table            rewrites it from reports/published
python -m reports.readme_table --check    exit status 1 if it is not up to date
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cts.journal.journal import read_meta

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- published runs -->", "<!-- end of published runs -->"
COLUMNS = ("device", "driver", "tier", "front end", "pass", "new failures", "known failures", "other", "not supported", "report")
_COLUMN = frozenset({"pass", "known_fail", "not_supported"})
"""Verdicts with a column of their own."""
_NEW = ("fail", "crash", "device_lost", "timeout", "flaky")


def rows(published: Path) -> list[tuple[str, ...]]:
    """Return one row for each published run, by the name of its folder."""
    found: list[tuple[str, ...]] = []
    for summary in sorted(published.glob("*/summary.json")):
        record: dict[str, Any] = json.loads(summary.read_text(encoding="utf-8"))
        meta = read_meta(summary.parent)
        counts: dict[str, int] = record["verdicts"]
        new = [f"{counts[verdict]:,} {verdict}" for verdict in _NEW if counts.get(verdict)]
        others = [f"{count:,} {verdict}" for verdict, count in sorted(counts.items()) if verdict not in _COLUMN.union(_NEW)]
        device = meta["device"]
        found.append(
            (
                device["name"],
                device["driver"],
                meta["tier"],
                meta["front_end"],
                f"{counts.get('pass', 0):,}",
                ", ".join(new) or "none",
                f"{counts.get('known_fail', 0):,}",
                ", ".join(others) or "none",
                f"{counts.get('not_supported', 0):,}",
                f"[{summary.parent.name}](reports/published/{summary.parent.name}/index.html)",
            )
        )
    return found


def section(published: Path) -> str:
    """Return the table, between its markers."""
    lines = [BEGIN, "| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(row) + " |" for row in rows(published)]
    return "\n".join([*lines, END])


def updated(readme: str, published: Path) -> str:
    """Return ``readme`` with the current table."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + section(published) + after


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrite or check the README."""
    parser = argparse.ArgumentParser(prog="python -m reports.readme_table", description="Writes the README's table of published runs.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit status 1 if the table is not up to date")
    options = parser.parse_args(arguments)
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    wanted = updated(text, ROOT / "reports" / "published")
    if options.check:
        if text != wanted:
            print("README.md: the table of published runs is not up to date; run python -m reports.readme_table", file=sys.stderr)
        return int(text != wanted)
    readme.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
