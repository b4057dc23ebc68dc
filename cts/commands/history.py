"""Shows how cases ended in the runs of a folder, oldest first: the cases whose ends differ between runs, or the named ones."""

from __future__ import annotations

import argparse
from pathlib import Path

from cts.commands.options import add, add_expression, expression_of
from cts.engine.report_writer import historian
from cts.journal.renames import renames


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the folder with the report directories, at any depth")
    add_expression(parser, "only cases whose ids match, as for 'cts list', and also those that never changed")
    add(parser, "--html", "also write a page with all cases, which needs no other file")
    add(parser, "--cases", default=40)


def run(options: argparse.Namespace) -> int:
    """Print the history."""
    show, expression = historian(), expression_of(options)
    print(show(options.folder, renames(options.root), expression, html=options.html, listed=max(options.cases, 0)), end="")
    return 0
