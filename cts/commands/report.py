"""Writes the reports (summary.json, summary.md, junit.xml, index.html) of a journal again, even if its run was killed, and prints the
causes of failures, each with the conditions on parameters that decide which cases fail."""

from __future__ import annotations

import argparse
from pathlib import Path

from cts.engine.report_writer import report_text, report_writer
from cts.exit_codes import BAD_INPUT
from cts.journal.journal import PACKED, RESULTS, journal_of, read
from cts.output import complain
from generators.errors import CtsError

NAME = "report"
HELP = "write the reports of a journal, and print the causes of failures"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("directory", type=Path, metavar="DIR", help=f"the report directory: it holds {RESULTS} or {RESULTS}{PACKED}")
    parser.add_argument(
        "--history",
        type=Path,
        metavar="FOLDER",
        help="the folder with the report directories of other runs, which pages of cases and requirements, and history.html, also show",
    )


def run(options: argparse.Namespace) -> int:
    """Write the reports."""
    directory: Path = options.directory
    journal = journal_of(directory)
    if not journal.is_file():
        raise CtsError(f"{directory} holds neither {RESULTS} nor {RESULTS}{PACKED}: name the DIR of a 'pytest cts --report-dir DIR'")
    faults = report_writer()(journal, directory, options.history)
    for fault in faults:
        complain(fault)
    if faults and next(read(journal), None) is None:
        complain(f"{journal} has no line that can be read")
        return BAD_INPUT
    print(report_text()(directory))
    print(directory / "index.html")
    return 0
