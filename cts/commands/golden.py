"""Compares the suite with the facts pinned in golden/cases/: which cases are added, lost or altered. Exit code 1 if any is."""

from __future__ import annotations

import argparse

from cts.commands.context import print_json, root
from cts.golden import Difference, check, update
from cts.plan import at_least_one
from generators.casebook import load_casebook

NAME = "golden"
HELP = "compare the cases with the pinned facts, or pin them anew"

_NAMED = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--check", action="store_true", help="print the differences as counts per family; exit code 1 if there are any")
    which.add_argument("--update", action="store_true", help="pin the suite as it is")
    parser.add_argument("--jobs", default="1", metavar="N", help="processes (default: 1)")
    parser.add_argument("--verbose", action="store_true", help="name every case that differs")
    parser.add_argument("--json", action="store_true", help="an object per family")


def run(options: argparse.Namespace) -> int:
    """Checks or updates."""
    jobs = at_least_one("--jobs", options.jobs)
    folder = root(options)
    book = load_casebook(folder)
    if options.update:
        counts = update(folder, book, jobs)
        if options.json:
            print_json(counts)
        else:
            for family, count in counts.items():
                print(f"{count:8d}  {family}")
        return 0
    differences = check(folder, book, jobs)
    if options.json:
        print_json([vars(difference) for difference in differences])
    else:
        for difference in differences:
            _print(difference, None if options.verbose else _NAMED)
    return 1 if any(differences) else 0


def _print(difference: Difference, limit: int | None) -> None:
    if not difference:
        print(f"{difference.family}: as pinned")
        return
    print(f"{difference.family}: {len(difference.added)} added, {len(difference.lost)} lost, {len(difference.altered)} altered")
    if difference.note:
        print(f"    {difference.note}")
    altered = [f"{id_} ({what})" for id_, what in difference.altered]
    for sign, ids in (("+", difference.added), ("-", difference.lost), ("~", altered)):
        for id_ in ids[:limit]:
            print(f"    {sign} {id_}")
        if limit is not None and len(ids) > limit:
            print(f"    {sign} and {len(ids) - limit} more (--verbose names them)")
