"""Writes the tables and pictures of docs/ that are made from the casebook. With --check it writes nothing, and exits with 1 if one
is stale.
"""

from __future__ import annotations

import argparse

from cts.commands.context import casebook, checkout, root
from cts.commands.options import add
from cts.commands.tables import remade
from cts.journal.atomic import write_text
from cts.pictures.picture import picture_of_case, shown_pictures
from generators.casebook import find_case


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add(parser, "--check", "write nothing; exit code 1 if a page or picture is stale")


def run(options: argparse.Namespace) -> int:
    """Write or check the pages."""
    folder = root(options) if options.check else checkout(options)
    book, stale = casebook(options), 0
    for path in sorted(folder.glob("docs/*.md")):
        before = path.read_text(encoding="utf-8")
        made = {path: remade(before, book)}
        made |= {path.parent / "pictures" / name: picture_of_case(find_case(book, case)) for name, case in shown_pictures(before).items()}
        for target, after in made.items():
            if target.exists() and target.read_text(encoding="utf-8") == after:
                continue
            stale += 1
            print(f"{target.name}: {'stale; run cts pages' if options.check else 'written'}")
            if not options.check:
                target.parent.mkdir(exist_ok=True)
                write_text(target, after)
    return 1 if options.check and stale else 0
