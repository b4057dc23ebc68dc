"""Shows how cases ended in the runs of a folder, oldest first: the cases whose ends differ between runs, or the named ones."""

from __future__ import annotations

import argparse
from pathlib import Path

from cts.engine.report_writer import historian
from cts.journal.renames import renames

NAME = "history"
HELP = "show how cases ended in the runs of a folder"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the folder with the report directories, at any depth")
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="only cases with all of these words in their ids, including cases that never changed"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page with all cases that needs no other file")
    parser.add_argument("--cases", type=int, default=40, metavar="N", help="how many cases the text names (default: 40)")


def run(options: argparse.Namespace) -> int:
    """Print the history."""
    print(historian()(options.folder, renames(options.root), options.words, html=options.html, listed=max(options.cases, 0)), end="")
    return 0
