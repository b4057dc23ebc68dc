"""Publishes a run: ``python -m reports.publish DIR NAME`` makes ``reports/published/NAME`` from a report directory.

A published run has what it takes to check it: each case with its parameters, requirements, verdict, code, defects and total time, the
description of the device, and a summary. It leaves out what is large and can be had by running again: the times of steps, the wrong
elements of most failures, and the cases that a device does not support if it only compiles or is a model. The smallest result of each
cause stays whole.
``cts report reports/published/NAME --out DIR`` makes its pages.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from cts.journal.atomic import write_text
from cts.journal.journal import META, PACKED, RESULTS, journal_of, read, read_meta, write_meta
from cts.journal.record import SCHEMA, encode, encode_object
from cts.printable import printable_line
from cts.verdict.verdict import CaseResult, Verdict
from generators.errors import CtsError
from reports.journals import Key, key_of
from reports.writer import write

ROOT = Path(__file__).resolve().parent.parent
PUBLISHED = ROOT / "reports" / "published"
SUMMARY = ("schema", "headline", "verdicts", "families", "requirements")
"""The parts of ``summary.json`` that are published: the journal has the others."""
_LINES = 3
"""The most lines of a message that is published, if the result is not whole."""


def publish(report: Path, folder: Path) -> None:
    """Publish a report directory as ``folder``.

    Raises:
        JournalError: the journal or its ``meta.json`` cannot be read or written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_meta(folder, read_meta(report))
    # Without a time, equal results make equal files.
    (folder / f"{RESULTS}{PACKED}").write_bytes(gzip.compress(published_journal(report), 9, mtime=0))
    with TemporaryDirectory() as scratch:
        write(journal_of(report), Path(scratch))
        write_text(folder / "summary.md", (Path(scratch) / "summary.md").read_text(encoding="utf-8"))
        summary = json.loads((Path(scratch) / "summary.json").read_text(encoding="utf-8"))
    write_text(folder / "summary.json", json.dumps({name: summary[name] for name in SUMMARY}, indent=1, ensure_ascii=False) + "\n")


def published_journal(report: Path) -> bytes:
    """Return the journal to publish, ordered by id: the last result of each attempt at a case, whole or brief."""
    latest = {key_of(result): result for result in read(journal_of(report))}
    if read_meta(report).get("modelled") or any(result.verdict is Verdict.COMPILED for result in latest.values()):
        latest = {key: result for key, result in latest.items() if result.verdict is not Verdict.NOT_SUPPORTED}
    whole = _shown(latest.values())
    results = (latest[key] if key in whole else _brief(latest[key]) for key in sorted(latest))
    timed = (replace(result, seconds=float(f"{result.seconds:.3g}"), steps={}) for result in results)
    return b"".join([encode_object({"schema": SCHEMA}), *map(encode, timed)])


def _brief(result: CaseResult) -> CaseResult:
    message = "\n".join(result.message.splitlines()[:_LINES])
    return replace(result, message=message, failures=tuple(failure.brief for failure in result.failures))


def _shown(results: Iterable[CaseResult]) -> set[Key]:
    """Return the keys of the results that stay whole: the smallest with wrong elements of each family, code, known failure and defect."""
    smallest: dict[tuple[object, ...], tuple[int, Key]] = {}
    for result in results:
        if any(failure.mismatch.elements for failure in result.failures):
            cause = (result.family, result.verdict, result.code, result.known, result.defects)
            size = (len(encode(result)), key_of(result))
            smallest[cause] = min(smallest.get(cause, size), size)
    return {key for _, key in smallest.values()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Publish. Return the exit status: 0, or 2 with a line on standard error if something cannot be read or written."""
    parser = argparse.ArgumentParser(prog="python -m reports.publish", description="Publishes a run in reports/published.")
    parser.add_argument("report", type=Path, metavar="DIR", help=f"its report directory, with {RESULTS} and {META}")
    parser.add_argument("name", metavar="NAME", help="the name of the published run, for example nvidia-h200-580.159.04-nightly")
    options = parser.parse_args(arguments)
    try:
        publish(options.report, PUBLISHED / options.name)
    except CtsError as error:
        print(f"error: {printable_line(str(error))}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
