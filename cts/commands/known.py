"""Lists known failures, and updates lists in deqp-runner's formats with the results of a run.

'cts known list' shows the entries of golden/known_failures and the lines of further files. 'cts known update REPORT --out PREFIX' reads the
journal of a run and writes PREFIX-fails.txt and PREFIX-flakes.txt: cases that fail are added with a comment that says how, cases that pass
are removed, and lines of cases that the run did not judge stay. People decide which cases to skip, so no command writes skips.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from cts.commands.context import print_json, root
from cts.commands.failure_list_updates import LineChange, Update, update_fails, update_flakes
from cts.commands.options import add
from cts.journal.atomic import write_text
from cts.journal.journal import RESULTS, journal_of
from cts.journal.outline import Outline, read_outlines
from cts.output import complain
from cts.verdict.failure_lists import FAILS, FLAKES, MOST_BYTES, SKIPS, listed_lines, read_expressions
from cts.verdict.known_failures import File, load_files
from generators.bounded_files import Unreadable, read_text
from generators.casebook import load_casebook
from generators.errors import CtsError

_GLYPHS = {"added": "+", "removed": "-", "changed": "~"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")
    listing = actions.add_parser("list", help="show known failures")
    listing.add_argument("files", nargs="*", type=Path, metavar="FILE", help=f"also show NAME{FAILS}, NAME{FLAKES} or NAME{SKIPS}")
    listing.add_argument("--driver", metavar="NAME", help="only entries for drivers whose name contains NAME")
    add(listing, "--json")
    update = actions.add_parser("update", help=f"write PREFIX{FAILS} and PREFIX{FLAKES} from a run, and print the changes with reasons")
    update.add_argument("report", type=Path, metavar="REPORT", help="the report directory of a run")
    add(update, "--out", f"prefix of the files, such as ci/lavapipe for ci/lavapipe{FAILS}", metavar="PREFIX", type=str, required=True)
    update.add_argument("--all", action="store_true", help="also write cases that golden/known_failures explains")
    add(update, "--check")
    add(update, "--json")


def run(options: argparse.Namespace) -> int:
    """List or update."""
    return _list(options) if options.action == "list" else _update(options)


def _list(options: argparse.Namespace) -> int:
    folder = root(options)
    files = [file for file in load_files(folder, load_casebook(folder)).values() if (options.driver or "").lower() in file.driver.lower()]
    lists = {path: _lines_of(path) for path in options.files}
    if options.json:
        print_json(
            {
                "entries": [entry for file in files for entry in _entries(file)],
                "lists": [{"file": str(path), "lines": lines} for path, lines in lists.items()],
            }
        )
        return 0
    for file in files:
        print(f"{file.path.name}: {file.driver}")
        for entry in file.entries:
            bounds = [f"since {'.'.join(map(str, entry.since))}"] * bool(entry.since)
            bounds += [f"until {'.'.join(map(str, entry.until))}"] * bool(entry.until)
            about = ", ".join([*entry.ends, *entry.defects, *bounds, *([entry.front_end] if entry.front_end else [])])
            print(f"  {entry.id} ({about})\n      {entry.what}\n      {entry.smallest[0]}")
    for path, lines in lists.items():
        print(f"{path}: {len(lines):,} lines")
        for line in lines:
            print(f"  {line}")
    return 0


def _entries(file: File) -> list[dict[str, object]]:
    return [
        {
            "file": file.path.name,
            "driver": file.driver,
            "id": entry.id,
            "since": ".".join(map(str, entry.since)),
            "until": ".".join(map(str, entry.until)),
            "ends": entry.ends,
            "defects": entry.defects,
            "front_end": entry.front_end,
            "what": entry.what,
            "smallest": entry.smallest,
        }
        for entry in file.entries
    ]


def _lines_of(path: Path) -> Sequence[str]:
    if path.name.endswith((FLAKES, SKIPS)):
        return read_expressions(path).patterns
    if path.name.endswith((FAILS, ".csv")):
        return [f"{one.id},{one.status}" for one in listed_lines(path)]
    raise CtsError(f"{path}: the end of the name must say what known failures a file has: {FAILS}, {FLAKES}, {SKIPS} or .csv")


def _update(options: argparse.Namespace) -> int:
    judged = _judged(options.report)
    fails_path, flakes_path = Path(f"{options.out}{FAILS}"), Path(f"{options.out}{FLAKES}")
    covered = frozenset() if options.all else frozenset(one.known for one in judged.values()) - {"", fails_path.name, flakes_path.name}
    links = _links(root(options)) if options.all else {}
    fails = update_fails(_text(fails_path), listed_lines(fails_path) if fails_path.exists() else [], judged, covered, links)
    flaky = read_expressions(flakes_path) if flakes_path.exists() else None
    flakes = update_flakes(_text(flakes_path), [id_ for id_ in judged if flaky and flaky.match(id_)], judged)
    updates = {fails_path: fails, flakes_path: flakes}
    if not options.check:
        for path, update in updates.items():
            if update.changes:
                _write(path, update.text)
    if options.json:
        print_json({"schema": 1, "files": [_document(path, update) for path, update in updates.items()]})
    else:
        for path, update in updates.items():
            _print(path, update, options.check)
    return 1 if options.check and any(update.changes for update in updates.values()) else 0


def _links(folder: Path) -> dict[str, str]:
    """Return the reports of known failures, by id."""
    return {entry.id: entry.link for file in load_files(folder, load_casebook(folder)).values() for entry in file.entries}


def _judged(report: Path) -> dict[str, Outline]:
    path = journal_of(report) if report.is_dir() else report
    if not path.is_file():
        raise CtsError(f"{report} holds no {RESULTS}: name the DIR of a 'pytest cts --report-dir DIR'")
    faults: list[object] = []
    judged: dict[str, Outline] = {}
    for outline in read_outlines(path, faults.append):
        before = judged.get(outline.id)
        # If there are several attempts, the failed one counts.
        if before is None or outline.attempt == before.attempt or not _has_failed(before):
            judged[outline.id] = outline
    if faults:
        complain(f"{len(faults)} lines of {path} cannot be read as results; their cases count as not judged. The first: {faults[0]}")
    return judged


def _has_failed(outline: Outline) -> bool:
    return bool(outline.code) and not outline.code.startswith(("missing.", "quality_warning"))


def _text(path: Path) -> str:
    try:
        return read_text(path, MOST_BYTES) if path.exists() else ""
    except Unreadable as error:
        raise CtsError(f"{path}: {error}") from error


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    except OSError as error:
        raise CtsError(f"cannot write {path}: {error.strerror}; give --out another PREFIX") from error


def _kind(change: LineChange) -> str:
    if not change.before:
        return "added"
    return "changed" if change.after else "removed"


def _print(path: Path, update: Update, check: bool) -> None:
    counts = {kind: sum(_kind(change) == kind for change in update.changes) for kind in _GLYPHS}
    said = ", ".join(f"{number:,} {kind}" for kind, number in counts.items() if number) or "nothing changed"
    stays = f"{update.kept:,} confirmed" + (f", {update.unjudged:,} not judged in this run" if update.unjudged else "")
    print(f"{path}: {said}; {stays}{'; not written (--check)' if check and update.changes else ''}")
    for change in update.changes:
        status = f"{change.before} -> {change.after}" if change.before and change.after else change.before or change.after
        why = ", ".join(filter(None, (str(change.why), change.code, *change.defects, change.link)))
        print(f"  {_GLYPHS[_kind(change)]} {change.id},{status}  ({why})")


def _document(path: Path, update: Update) -> dict[str, object]:
    changes = [
        {"change": _kind(one), **{name: value for name, value in vars(one).items() if name != "why"}, "why": str(one.why)}
        for one in update.changes
    ]
    return {"file": str(path), "changes": changes, "confirmed": update.kept, "not_judged": update.unjudged}
