"""Writes the skeleton of a new family: its YAML file in cases/ and its builder in generators/families/."""

from __future__ import annotations

import argparse

from cts.commands.context import checkout
from cts.commands.options import add
from generators.skeleton import new_family


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("name", metavar="NAME", help="name of the family, in snake_case")
    add(parser, "--specification", "the extension that it tests, for example SPV_KHR_cooperative_matrix", required=True)


def run(options: argparse.Namespace) -> int:
    """Write the files and print where, and which command to run next."""
    for path in new_family(checkout(options), options.name, options.specification):
        print(path)
    print(f"choose its cases: cts golden --update --tiers --family {options.name}")
    return 0
