"""Compares two files of 'cts fingerprint --out': models, probes and random results. Exit code 1 if anything differs."""

from __future__ import annotations

import argparse
from pathlib import Path

from cts.commands.context import print_json
from cts.commands.options import add
from cts.fingerprint.comparison import differences
from cts.fingerprint.record import read


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("before", type=Path, metavar="BEFORE", help="a fingerprint")
    parser.add_argument("after", type=Path, metavar="AFTER", help="another one")
    add(parser, "--json")


def run(options: argparse.Namespace) -> int:
    """Print the differences; exit code 1 if there are any."""
    found = list(differences(read(options.before), read(options.after)))
    if options.json:
        print_json(found)
    else:
        print("\n".join(found) or "the same arithmetic, as far as measured")
    return int(bool(found))
