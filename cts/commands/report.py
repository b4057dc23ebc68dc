"""Writes the reports of a run (summary.json, summary.md, junit.xml, index.html with its pages), even of one that was killed, and prints the
causes of failures, each with the conditions on parameters that decide which cases fail.

If several report directories are named, the report is about all of them: for each case, the last result counts."""

from __future__ import annotations

import argparse
from pathlib import Path

from cts.commands.options import add
from cts.engine.plan import JUNIT
from cts.engine.report_writer import processes, report_text, report_writer
from cts.exit_codes import BAD_INPUT
from cts.journal.journal import PACKED, RESULTS, journal_of, read
from cts.journal.run_record import EVERY_CASE
from cts.output import complain
from generators.errors import CtsError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "directories", nargs="+", type=Path, metavar="DIR", help=f"a report directory: it holds {RESULTS} or {RESULTS}{PACKED}"
    )
    add(parser, "--out", "where to write the reports (default: the first DIR)", metavar="DIR")
    parser.add_argument("--junit", choices=JUNIT, help="which cases are tests of junit.xml (default: as the run was asked to)")
    parser.add_argument(
        "--history",
        metavar="ARCHIVE",
        help="an archive, or a folder with the report directories of other runs, which pages of cases and requirements, and history.html, "
        "also show (needs DuckDB: pip install '.[farm]')",
    )


def run(options: argparse.Namespace) -> int:
    """Write the reports."""
    out: Path = options.out or options.directories[0]
    journals = [journal_of(directory) for directory in options.directories]
    for directory, journal in zip(options.directories, journals, strict=True):
        if not journal.is_file():
            raise CtsError(f"{directory} holds neither {RESULTS} nor {RESULTS}{PACKED}: name the DIR of a 'pytest cts --report-dir DIR'")
    every_case = None if options.junit is None else options.junit == EVERY_CASE
    faults = report_writer()(journals, out, options.history, processes=processes(), every_case=every_case)
    for fault in faults:
        complain(fault)
    if faults and not any(next(read(journal), None) for journal in journals):
        complain(f"{', '.join(map(str, journals))}: there is no line that can be read")
        return BAD_INPUT
    print(report_text()(out))
    print(out / "index.html")
    return 0
