"""Draws the mapping of matrix elements to tensor elements in a case that addresses tensors, as SVG. It shows elements that are read, that
are out of bounds, and that a clip window leaves out, as the reference model computes them."""

from __future__ import annotations

import argparse

from cts.commands.context import root
from cts.commands.options import add
from cts.journal.atomic import write_text
from cts.pictures.picture import picture_of_case
from generators.casebook import load_case
from generators.errors import CtsError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add(parser, "case")
    add(parser, "--out", "the file to write (default: standard output)", metavar="FILE.svg")
    parser.add_argument("--access", type=int, default=0, metavar="N", help="which of the case's tensor loads and stores (default: 0)")
    parser.add_argument("--instance", type=int, default=0, metavar="N", help="which scope instance (default: 0)")


def run(options: argparse.Namespace) -> int:
    """Draw the picture."""
    text = picture_of_case(load_case(root(options), options.case), options.access, options.instance)
    if options.out is None:
        print(text, end="")
    else:
        try:
            write_text(options.out, text)
        except OSError as error:
            raise CtsError(f"--out {options.out}: cannot write it: {error.strerror}; name a file in a folder that exists") from error
    return 0
