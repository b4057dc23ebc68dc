"""Draws the mapping of matrix elements to tensor elements in a case that addresses tensors, as SVG. It shows elements that are read, that
are out of bounds, and that a clip window leaves out, as the reference model computes them."""

from __future__ import annotations

import argparse
from pathlib import Path

from cts.commands.context import casebook
from cts.journal.atomic import write_text
from cts.pictures.picture import picture_of_case
from generators.errors import CtsError

NAME = "picture"
HELP = "draw how a case addresses a tensor"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("case", metavar="CASE", help="id, as pytest prints it (quote it for the shell)")
    parser.add_argument("--out", type=Path, metavar="FILE.svg", help="the file to write (default: standard output)")
    parser.add_argument("--access", type=int, default=0, metavar="N", help="which of the case's tensor loads and stores (default: 0)")
    parser.add_argument("--instance", type=int, default=0, metavar="N", help="which scope instance (default: 0)")


def run(options: argparse.Namespace) -> int:
    """Draw the picture."""
    text = picture_of_case(casebook(options), options.case, options.access, options.instance)
    if options.out is None:
        print(text, end="")
    else:
        try:
            write_text(options.out, text)
        except OSError as error:
            raise CtsError(f"--out {options.out}: cannot write it: {error.strerror}; name a file in a folder that exists") from error
    return 0
