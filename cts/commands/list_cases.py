"""Lists the ids of cases, in the form that case lists and 'pytest FILE::ID' take, or counts them and estimates the time they take."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from cts.commands.choice import chosen_families, configure_choice, has_words
from cts.commands.context import casebook, print_json
from cts.engine.costs import Costs, measured
from cts.engine.plan import one_of
from cts.engine.selection import Selection
from cts.engine.shards import parse_shard
from cts.journal.journal import journal_of, read
from generators.casebook import Case, Family, Tier
from generators.errors import CtsError

NAME = "list"
HELP = "list cases"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("--tier", default="smoke", help="smoke, nightly or full (default: smoke)")
    configure_choice(parser)
    parser.add_argument("--shard", metavar="K/N", help="only part K of N, the same cases as in a run with --shard K/N")
    parser.add_argument("--count", action="store_true", help="print the number of cases in each family instead")
    parser.add_argument(
        "--estimate",
        type=Path,
        metavar="DIR",
        help="with --count: how many seconds one process takes for them, estimated from the times in this report directory",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="a list of objects with id, family, parameters and requirements; with --count an object: family -> cases, and with --estimate "
        "family -> cases, seconds (null if the run has no case of the family)",
    )


def run(options: argparse.Namespace) -> int:
    """Print the list."""
    tier = Tier(one_of("--tier", options.tier, tuple(Tier)))
    if options.estimate and not options.count:
        raise CtsError("--estimate is for --count: add it")
    shard = parse_shard(options.shard) if options.shard else None
    selection = Selection(casebook(options), tier, shard=shard)
    families = chosen_families(options, selection.casebook)
    if options.count:
        _count(options, selection, families)
    elif options.json:
        first = "["
        for case in _cases(selection, families, options.words):
            one = {"id": case.id, "family": case.family, "parameters": case.named, "requirements": case.requirements}
            print(first, json.dumps(one, indent=2, ensure_ascii=False), sep="\n", end="")
            first = ","
        print("\n]" if first == "," else "[]")
    else:
        for case in _cases(selection, families, options.words):
            print(case.id)
    return 0


def _cases(selection: Selection, families: list[Family], words: list[str]) -> Iterator[Case]:
    """Yield the cases one at a time: the full tier has millions."""
    return (case for family in families for case in selection.cases(family) if has_words(case, words))


def _count(options: argparse.Namespace, selection: Selection, families: list[Family]) -> None:
    costs = None
    if options.estimate:
        costs = measured(read(journal_of(options.estimate)), without=(), apart=False)
        if not costs.families:
            raise CtsError(f"{options.estimate}: its journal has no results to estimate from: name the DIR of another run")
    counts = {family.name: _counted(selection, family, options.words, costs) for family in families}
    if costs is None:
        if options.json:
            print_json({name: count for name, (count, _) in counts.items()})
        else:
            for name, (count, _) in counts.items():
                print(f"{count:8d}  {name}")
        return
    if options.json:
        print_json({name: {"cases": count, "seconds": seconds} for name, (count, seconds) in counts.items()})
        return
    for name, (count, seconds) in counts.items():
        print(f"{count:8d}  {'unknown' if seconds is None else f'{seconds:.1f} s':>12}  {name}")
    unknown = sum(count for count, seconds in counts.values() if seconds is None)
    total = sum(seconds for _, seconds in counts.values() if seconds is not None)
    beside = f", without {unknown} cases of families that the run does not have" if unknown else ""
    print(f"{sum(count for count, _ in counts.values()):8d}  {total:10.1f} s  in one process{beside}")


def _counted(selection: Selection, family: Family, words: list[str], costs: Costs | None) -> tuple[int, float | None]:
    """Return how many cases of the family are selected, and the seconds that they take, or None if that is unknown."""
    blocks = None if words else selection.blocks(family)
    known = costs is not None and family.name in costs.families
    if blocks is not None:
        count = sum(block.count for block in blocks)
        return count, count * costs.of(family.name) / 1e6 if costs and known else None
    count = microseconds = 0
    for case in selection.cases(family):
        if has_words(case, words):
            count += 1
            microseconds += costs.of(family.name, case.id) if costs and known else 0
    return count, microseconds / 1e6 if known else None
