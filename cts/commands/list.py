"""Lists the ids of cases, in the form that case lists and 'pytest FILE::ID' take, or counts them and estimates the time they take."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from cts.commands.context import print_json
from cts.commands.options import add, add_selection, expression_of, nothing_selected, selected_families, tier_of
from cts.engine.costs import Costs, measured
from cts.engine.keyword_expression import KeywordExpression
from cts.engine.selection import Selection
from cts.engine.shards import parse_shard
from cts.journal.journal import journal_of, read
from generators.casebook import Family, Tier
from generators.errors import CtsError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_selection(parser, Tier.SMOKE)
    parser.add_argument("--shard", metavar="K/N", help="only part K of N, the same cases as in a run with --shard K/N")
    parser.add_argument("--count", action="store_true", help="print the number of cases in each family instead")
    parser.add_argument(
        "--estimate",
        type=Path,
        metavar="DIR",
        help="with --count: how many seconds one process takes for them, estimated from the times in this report directory",
    )
    add(
        parser,
        "--json",
        "print a list of objects with id, family, parameters and requirements as JSON; with --count an object: family -> cases, and with "
        "--estimate family -> cases, seconds (null if the run has no case of the family)",
    )


def run(options: argparse.Namespace) -> int:
    """Print the list."""
    tier, expression = tier_of(options), expression_of(options)
    if options.estimate and not options.count:
        raise CtsError("--estimate is for --count: add it")
    shard = parse_shard(options.shard) if options.shard else None
    selection = Selection(selected_families(options), tier, shard=shard)
    listed = _count(options, selection, expression) if options.count else _list(options, selection, expression)
    return 0 if listed else nothing_selected(options)


def _list(options: argparse.Namespace, selection: Selection, expression: KeywordExpression) -> int:
    """Print the cases, one at a time because the full tier has millions, and return their number."""
    number = 0
    for family in selection.casebook:
        for case in filter(expression.selects, selection.cases(family)):
            if options.json:
                one = {"id": case.id, "family": case.family, "parameters": case.named, "requirements": case.requirements}
                print("," if number else "[", json.dumps(one, indent=2, ensure_ascii=False), sep="\n", end="")
            else:
                print(case.id)
            number += 1
    if options.json:
        print("\n]" if number else "[]")
    return number


def _count(options: argparse.Namespace, selection: Selection, expression: KeywordExpression) -> int:
    """Print the number of cases of each family, and return the number of all."""
    costs = None
    if options.estimate:
        costs = measured(read(journal_of(options.estimate)), without=(), apart=False)
        if not costs.families:
            raise CtsError(f"{options.estimate}: its journal has no results to estimate from: name the DIR of another run")
    counts = {family.name: _counted(selection, family, expression, costs) for family in selection.casebook}
    number = sum(count for count, _ in counts.values())
    if costs is None:
        if options.json:
            print_json({name: count for name, (count, _) in counts.items()})
        else:
            for name, (count, _) in counts.items():
                print(f"{count:8d}  {name}")
        return number
    if options.json:
        print_json({name: {"cases": count, "seconds": seconds} for name, (count, seconds) in counts.items()})
        return number
    for name, (count, seconds) in counts.items():
        print(f"{count:8d}  {'unknown' if seconds is None else f'{seconds:.1f} s':>12}  {name}")
    unknown = sum(count for count, seconds in counts.values() if seconds is None)
    total = sum(seconds for _, seconds in counts.values() if seconds is not None)
    beside = f", without {unknown} cases of families that the run does not have" if unknown else ""
    print(f"{number:8d}  {total:10.1f} s  in one process{beside}")
    return number


def _counted(selection: Selection, family: Family, expression: KeywordExpression, costs: Costs | None) -> tuple[int, float | None]:
    """Return how many cases of the family are selected, and the seconds that they take, or None if that is unknown."""
    blocks = None if expression.text else selection.blocks(family)
    known = costs is not None and family.name in costs.families
    if blocks is not None:
        count = sum(block.count for block in blocks)
        return count, count * costs.of(family.name) / 1e6 if costs and known else None
    count = microseconds = 0
    for case in filter(expression.selects, selection.cases(family)):
        count += 1
        microseconds += costs.of(family.name, case.id) if costs and known else 0
    return count, microseconds / 1e6 if known else None
