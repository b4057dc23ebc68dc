"""Lists the ids of cases, in the form that case lists and 'pytest FILE::ID' take."""

from __future__ import annotations

import argparse

from cts.commands.choice import chosen_cases, configure_choice
from cts.commands.context import print_json
from cts.run.plan import one_of
from generators.casebook import Tier

NAME = "list"
HELP = "list cases"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("--tier", default="smoke", help="smoke, nightly or full (default: smoke)")
    configure_choice(parser)
    parser.add_argument("--count", action="store_true", help="print how many there are in each family instead")
    parser.add_argument(
        "--json", action="store_true", help="a list of objects with id, family, parameters and requirements; with --count, an object"
    )


def run(options: argparse.Namespace) -> int:
    """Print the list."""
    tier = Tier(one_of("--tier", options.tier, tuple(Tier)))
    chosen = {family.name: cases for family, cases in chosen_cases(options, tier)}
    if options.count:
        counts = {name: len(cases) for name, cases in chosen.items()}
        if options.json:
            print_json(counts)
        else:
            for name, count in counts.items():
                print(f"{count:8d}  {name}")
    elif options.json:
        cases = [case for family in chosen.values() for case in family]
        print_json([{"id": case.id, "family": case.family, "parameters": case.named, "requirements": case.requirements} for case in cases])
    else:
        for family in chosen.values():
            for case in family:
                print(case.id)
    return 0
