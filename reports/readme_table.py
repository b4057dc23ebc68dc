"""The README's tables of published runs: a row for each run, and the coverage of each specification by each run.

python -m reports.readme_table            rewrites them from reports/published
python -m reports.readme_table --check    exit status 1 if they are not up to date
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cts.journal.journal import read_meta
from generators.casebook import load_casebook
from generators.casebook.requirements import load_requirements

ROOT = Path(__file__).resolve().parent.parent
RUNS, SPECIFICATIONS = "published runs", "published specifications"
COLUMNS = ("device", "driver", "tier", "front end", "pass", "new failures", "known failures", "other", "not supported", "report")
_COLUMN = frozenset({"pass", "known_fail", "not_supported"})
"""Verdicts with a column of their own."""
_NEW = ("fail", "crash", "device_lost", "timeout", "flaky")
_JUDGED_NOT = frozenset({"not_supported", "error", "resource_error"})
"""Verdicts that say nothing about a requirement."""


@dataclass(frozen=True)
class Run:
    """A published run.

    Attributes:
        folder: its name under reports/published.
        meta: the journal's ``meta.json``.
        verdicts: verdict -> cases.
        families: family -> verdict -> cases. ``requirements``: requirement -> verdict -> cases.
    """

    folder: str
    meta: dict[str, Any]
    verdicts: dict[str, int]
    families: dict[str, dict[str, int]]
    requirements: dict[str, dict[str, int]]

    @property
    def title(self) -> str:
        """Return the facts that distinguish the run."""
        return f"{self.meta['device']['name'].split(' (')[0]}, {self.meta['tier']}, {self.meta['front_end']}"


def runs(published: Path) -> list[Run]:
    """Return the published runs by the names of their folders."""
    found = []
    for summary in sorted(published.glob("*/summary.json")):
        record: dict[str, Any] = json.loads(summary.read_text(encoding="utf-8"))
        folder = summary.parent
        found.append(
            Run(folder.name, dict(read_meta(folder)), record["verdicts"], record.get("families", {}), record.get("requirements", {}))
        )
    return found


def _of_runs(found: Sequence[Run]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for run in found:
        counts = run.verdicts
        new = [f"{counts[verdict]:,} {verdict}" for verdict in _NEW if counts.get(verdict)]
        others = [f"{count:,} {verdict}" for verdict, count in sorted(counts.items()) if verdict not in _COLUMN.union(_NEW)]
        rows.append(
            (
                run.meta["device"]["name"],
                run.meta["device"]["driver"],
                run.meta["tier"],
                run.meta["front_end"],
                f"{counts.get('pass', 0):,}",
                ", ".join(new) or "none",
                f"{counts.get('known_fail', 0):,}",
                ", ".join(others) or "none",
                f"{counts.get('not_supported', 0):,}",
                f"[{run.folder}](reports/published/{run.folder}/summary.md)",
            )
        )
    return rows


def _of_specifications(found: Sequence[Run], checkout: Path) -> list[tuple[str, ...]]:
    """Return for each specification and run the judged requirements out of all, and the cases by verdict."""
    requirements = load_requirements(checkout)
    totals = Counter(one.specification for one in requirements.values())
    families = {family.name: family.specification for family in load_casebook(checkout).families.values()}
    rows = []
    for specification, total in totals.items():
        cells = [specification, str(total)]
        for run in found:
            judged = sum(
                any(count and verdict not in _JUDGED_NOT for verdict, count in run.requirements.get(id_, {}).items())
                for id_, one in requirements.items()
                if one.specification == specification
            )
            cases: Counter[str] = Counter()
            for family, verdicts in run.families.items():
                if families.get(family) == specification:
                    cases.update(verdicts)
            told = [f"{count:,} {verdict}" for verdict, count in sorted(cases.items(), key=lambda item: -item[1]) if count]
            cells.append("; ".join([f"{judged} requirements", ", ".join(told)][: 2 if told else 1]) if judged or told else "none")
        rows.append(tuple(cells))
    return rows


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _replaced(readme: str, name: str, table: str) -> str:
    """Return ``readme`` with a new table between the markers of ``name``; unchanged if it has no markers."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, found, rest = readme.partition(begin)
    if not found:
        return readme
    return f"{before}{begin}\n{table}\n{end}{rest.partition(end)[2]}"


def updated(readme: str, published: Path, checkout: Path = ROOT) -> str:
    """Return ``readme`` with the current tables."""
    found = runs(published)
    readme = _replaced(readme, RUNS, _table(COLUMNS, _of_runs(found)))
    columns = ("specification", "requirements", *(run.title for run in found))
    return _replaced(readme, SPECIFICATIONS, _table(columns, _of_specifications(found, checkout)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrite or check the README."""
    parser = argparse.ArgumentParser(prog="python -m reports.readme_table", description="Writes the README's tables of published runs.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit status 1 if a table is not up to date")
    options = parser.parse_args(arguments)
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    wanted = updated(text, ROOT / "reports" / "published")
    if options.check:
        if text != wanted:
            print("README.md: a table of published runs is not up to date; run python -m reports.readme_table", file=sys.stderr)
        return int(text != wanted)
    readme.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
