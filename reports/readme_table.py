"""What the README and docs/specifications.md show of published runs: a row for each run, the coverage of each specification, and a failure.

python -m reports.readme_table            writes them from reports/published
python -m reports.readme_table --check    exit status 1 if they are not up to date

A page has a table between markers of its name (``<!-- published runs -->``, ``specifications``, ``chips`` or ``models``) and an end, and
the lines of a failure after ``<!-- published failure: RUN CASE FILE.svg -->``. The picture of that failure is the file, beside the page.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cts.generated_files import bring_up_to_date, replaced
from cts.journal.journal import journal_of, read, read_meta
from cts.verdict.verdict import CaseResult
from generators.casebook import load_casebook
from generators.casebook.ids import family_of
from generators.casebook.requirements import load_requirements
from generators.errors import CtsError
from reports.shown_failure import failure_lines, failure_picture

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs" / "specifications.md", ROOT / "docs" / "compile_only.md", ROOT / "docs" / "executed.md")
RUNS, SPECIFICATIONS, CHIPS, MODELS = "published runs", "published specifications", "published chips", "published models"
COMPILE_ONLY = "compile_only"
"""The folder of the published runs of chips that are not there: they judge no requirement."""
EXECUTED = "executed"
"""The folder of the published runs on models of chips: they say nothing about a chip, so they do not count where drivers do."""
COLUMNS_OF_CHIPS = ("chip", "device, driver", "property rows", "supported", "compiled", "known failures", "others")
COLUMNS = ("run", "device, driver", "pass", "fail", "known failures", "others", "not supported")
_FAILURE = re.compile(
    r"(?P<begin><!-- published failure: (?P<run>\S+) (?P<case>\S+) (?P<file>\S+\.svg) -->\n).*?(?P<end><!-- end of published failure -->)",
    re.DOTALL,
)
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

    @property
    def path(self) -> str:
        """Return its folder below reports/published."""
        return f"{EXECUTED}/{self.folder}" if self.meta.get("modelled") else self.folder


def runs(published: Path) -> list[Run]:
    """Return the published runs in a folder, by the names of theirs.

    Raises:
        CtsError: a run on a model is not among those on models.
    """
    found = []
    for summary in sorted(published.glob("*/summary.json")):
        record: dict[str, Any] = json.loads(summary.read_text(encoding="utf-8"))
        folder = summary.parent
        found.append(
            Run(folder.name, dict(read_meta(folder)), record["verdicts"], record.get("families", {}), record.get("requirements", {}))
        )
        if found[-1].meta.get("modelled") and published.name != EXECUTED:
            raise CtsError(f"{folder} is a run on a model of a chip, which says nothing about a driver on a chip: move it to {EXECUTED}/")
    return found


def _of_runs(found: Sequence[Run], prefix: str = "") -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for run in found:
        counts = run.verdicts
        new = [f"{counts[verdict]:,} {verdict}" for verdict in _NEW if counts.get(verdict)]
        name, driver = (run.meta["device"][part] for part in ("name", "driver"))
        if not run.meta.get("modelled"):
            name, driver = name.partition(" (")[0], driver.partition(" (")[0]
        others = [f"{count:,} {verdict}" for verdict, count in sorted(counts.items()) if verdict not in _COLUMN.union(_NEW)]
        rows.append(
            (
                f"[{run.folder}]({prefix}reports/published/{run.path}/summary.md)",
                ", ".join([name] * (not driver.startswith(name)) + [driver]),
                f"{counts.get('pass', 0):,}",
                ", ".join(new) or "none",
                f"{counts.get('known_fail', 0):,}",
                ", ".join(others) or "none",
                f"{counts.get('not_supported', 0):,}",
            )
        )
    return rows


def _of_chips(found: Sequence[Run]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for run in found:
        device, counts = run.meta["device"], run.verdicts
        own = ("compiled", "known_fail", "not_supported")
        others = [f"{count:,} {verdict}" for verdict, count in sorted(counts.items()) if verdict not in own]
        supported = sum(counts.values()) - counts.get("not_supported", 0)
        told = (device["property_rows"], supported, counts.get("compiled", 0), counts.get("known_fail", 0))
        rows.append((f"`{run.folder}`", f"{device['name']}, {device['driver']}", *(f"{number:,}" for number in told), ", ".join(others)))
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


def updated(page: str, published: Path, checkout: Path = ROOT) -> tuple[str, Mapping[str, str]]:
    """Return ``page`` with what it shows of published runs as they are, and the pictures that it shows, by file name.

    Raises:
        CtsError: a failure that it shows is in no published run.
    """
    found = runs(published)
    page = replaced(page, RUNS, _table(COLUMNS, _of_runs(found)))
    page = replaced(page, CHIPS, _table(COLUMNS_OF_CHIPS, _of_chips(runs(published / COMPILE_ONLY))))
    page = replaced(page, MODELS, _table(COLUMNS, _of_runs(runs(published / EXECUTED), "../")))
    if SPECIFICATIONS in page:
        columns = ("specification", "requirements", *(run.title for run in found))
        page = replaced(page, SPECIFICATIONS, _table(columns, _of_specifications(found, checkout)))
    pictures: dict[str, str] = {}

    def shown(match: re.Match[str]) -> str:
        result = _published(published / match["run"], match["case"])
        pictures[match["file"]] = failure_picture(result)
        lines = failure_lines(result, load_casebook(checkout, [family_of(result.id)]))
        return f"{match['begin']}```\n{lines}```\n{match['end']}"

    return _FAILURE.sub(shown, page), pictures


def _published(folder: Path, id_: str) -> CaseResult:
    found = next((result for result in read(journal_of(folder)) if result.id == id_), None)
    if found is None:
        raise CtsError(f"{folder} has no result of {id_}: name another case in the marker of the failure")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the pages."""
    parser = argparse.ArgumentParser(prog="python -m reports.readme_table", description="Writes what pages show of published runs.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if something is not up to date")
    options = parser.parse_args(arguments)
    return bring_up_to_date(_made(), "python -m reports.readme_table", options.check)


def _made() -> Iterator[tuple[Path, str]]:
    """Yield each page and picture, and its contents."""
    for path in PAGES:
        text, pictures = updated(path.read_text(encoding="utf-8"), ROOT / "reports" / "published")
        yield path, text
        yield from ((path.parent / name, picture) for name, picture in pictures.items())


if __name__ == "__main__":
    sys.exit(main())
