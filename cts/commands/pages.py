"""Writes the tables of docs/ that are made from the casebook. With --check it writes nothing; exit code 1 if one is stale."""

from __future__ import annotations

import argparse

from cts.atomic import write_text
from cts.commands.context import casebook, root
from cts.tables import remade

NAME = "pages"
HELP = "write the tables of docs/ that are made from the casebook"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a table is stale")


def run(options: argparse.Namespace) -> int:
    """Writes, or checks."""
    book, stale = casebook(options), 0
    for path in sorted(root(options).glob("docs/*.md")):
        before = path.read_text(encoding="utf-8")
        after = remade(before, book)
        if before == after:
            continue
        stale += 1
        print(f"{path.name}: {'stale; run cts pages' if options.check else 'written'}")
        if not options.check:
            write_text(path, after)
    return 1 if options.check and stale else 0
