"""Writes the tables and pictures of docs/ that are made from the casebook. With --check it writes nothing, and exits with 1 if one
is stale.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from cts.commands.context import casebook, checkout, root
from cts.commands.glsl_facts import FILE, current, text
from cts.commands.options import add
from cts.commands.tables import remade
from cts.generated_files import bring_up_to_date
from cts.pictures.picture import picture_of_case, shown_pictures
from generators.casebook import Casebook, find_case


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add(parser, "--check", "write nothing; exit code 1 if a page or picture is stale")
    parser.add_argument(
        "--anew",
        action="store_true",
        help=f"also find the facts of {FILE} again that follow from unchanged cases and sources, which takes a minute",
    )


def run(options: argparse.Namespace) -> int:
    """Write or check the pages."""
    folder = root(options) if options.check else checkout(options)
    return bring_up_to_date(_made(folder, casebook(options), options.anew), "cts pages", options.check)


def _made(folder: Path, book: Casebook, anew: bool) -> Iterator[tuple[Path, str]]:
    """Yield each file and its contents; facts come before the pages that show them."""
    if (folder / "docs" / "glsl.md").exists():
        yield folder / FILE, text(folder, book, current(folder, book, anew))
    for path in sorted(folder.glob("docs/*.md")):
        before = path.read_text(encoding="utf-8")
        yield path, remade(before, book)
        for name, case in shown_pictures(before).items():
            yield path.parent / "pictures" / name, picture_of_case(find_case(book, case))
