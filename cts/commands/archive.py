"""Keeps the runs of a farm as Parquet files, which 'cts history' and other programs query. docs/archive.md describes them.

'cts archive add DIR... --to ARCHIVE' adds report directories, and 'cts archive import FOLDER --to ARCHIVE' adds every one in a folder.
Runs that the archive already has change nothing, so both may be repeated, also after they were interrupted. 'cts archive sql ARCHIVE QUERY'
shows the rows of a query.

It needs DuckDB: pip install '.[farm]'.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from cts.commands.context import print_json
from cts.commands.options import add
from cts.engine.report_writer import archivist
from cts.exit_codes import BAD_INPUT
from cts.journal.journal import RESULTS, journal_of
from cts.journal.renames import renames
from cts.output import complain
from generators.errors import CtsError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")
    adding = actions.add_parser("add", help="add the runs of report directories")
    adding.add_argument("directories", nargs="+", type=Path, metavar="DIR", help="a report directory")
    importing = actions.add_parser("import", help="add all runs of a folder, and leave out those that cannot be read")
    importing.add_argument("folder", type=Path, metavar="FOLDER", help="holds report directories, at any depth")
    for one in (adding, importing):
        one.add_argument("--to", type=Path, metavar="ARCHIVE", required=True, help="the folder of the archive; made if it does not exist")
    asking = actions.add_parser("sql", help="show the rows of a query")
    asking.add_argument("archive", metavar="ARCHIVE", help="the folder of the archive, or its URL in an object store")
    asking.add_argument("query", nargs="?", metavar="QUERY", help="SQL (default: what standard input has)")
    add(asking, "--json")


def run(options: argparse.Namespace) -> int:
    """Do the action."""
    if options.action == "sql":
        query = sys.stdin.read() if options.query is None else options.query
        names, rows = archivist().query(options.archive, query)
        if options.json:
            print_json([dict(zip(names, row, strict=True)) for row in rows])
        else:
            for row in (names, *rows):
                print(*row, sep="\t")
        return 0
    if options.action == "add":
        journals = [journal_of(directory) for directory in options.directories]
        for directory, journal in zip(options.directories, journals, strict=True):
            if not journal.is_file():
                raise CtsError(f"{directory} holds no {RESULTS}: name a report directory, or a folder of them to 'cts archive import'")
    else:
        journals = [*archivist().journals_in(options.folder)]
    found = archivist().add(journals, options.to, renames(options.root))
    for directory, why in found.unreadable.items():
        complain(f"{directory} is not added: {why}")
    print(f"{options.to}: {len(found.added):,} added, {len(found.present):,} already there")
    return BAD_INPUT if found.unreadable else 0
