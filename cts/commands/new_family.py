"""Writes the skeleton of a new family: its YAML file in cases/ and its builder in generators/families/."""

from __future__ import annotations

import argparse

from cts.commands.context import checkout
from generators.skeleton import new_family

NAME = "new-family"
HELP = "write the skeleton of a new family"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("name", metavar="NAME", help="name of the family, in snake_case")
    parser.add_argument(
        "--specification", required=True, metavar="S", help="the extension that it tests, for example SPV_KHR_cooperative_matrix"
    )


def run(options: argparse.Namespace) -> int:
    """Write the files and print where, and which command to run next."""
    for path in new_family(checkout(options), options.name, options.specification):
        print(path)
    print(f"choose its cases: cts golden --update --tiers --family {options.name}")
    return 0
