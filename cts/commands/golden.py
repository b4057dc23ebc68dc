"""Pins the cases of the tiers with their digests in golden/tiers/, or compares the suite with them: exit code 1 if it differs."""

from __future__ import annotations

import argparse
from pathlib import Path

from cts.commands.context import checkout, print_json, root
from cts.commands.options import add
from cts.commands.pinned import Difference, check, update
from cts.diagnosis.proofs import find_proofs, read_proofs, write_proofs
from cts.engine.costs import joined, measured, write_costs
from cts.engine.plan import at_least_one
from cts.journal.journal import journal_of, read
from generators.casebook import load_casebook
from generators.errors import CtsError

_NAMED = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--check", action="store_true", help="print the differences as counts per family; exit code 1 if there are any")
    which.add_argument("--update", action="store_true", help="pin the suite as it is")
    which.add_argument(
        "--costs",
        action="append",
        type=Path,
        metavar="DIR",
        help="pin the costs of cases, as the run with this report directory measured them; may be given several times, and a family takes "
        "its costs from the first run that ran some of its cases. This changes which cases --shard gives to which shard",
    )
    add(parser, "--family", default=[])
    parser.add_argument(
        "--tiers", action="store_true", help="with --update: pin which cases there are, and compute no digests (quick; builds nothing)"
    )
    parser.add_argument(
        "--proofs",
        action="store_true",
        help="with --update: pin only golden/proofs.tsv: for each claim of a family, a case that shows a defect that breaks it",
    )
    parser.add_argument("--anew", action="store_true", help="with --update: choose all cases again (by default pinned cases stay)")
    add(parser, "-n", dest="processes", default="1")
    parser.add_argument("-v", "--verbose", action="store_true", help="name every case that differs")
    add(parser, "--json")


def run(options: argparse.Namespace) -> int:
    """Check or update."""
    jobs = at_least_one("-n", options.processes)
    folder = checkout(options) if options.update or options.costs else root(options)
    if options.costs:
        costs = joined([measured(read(journal_of(directory))) for directory in options.costs])
        write_costs(folder, costs)
        print(f"{len(costs.families):8d}  families, and {len(costs.cases)} cases that take long")
        return 0
    book = load_casebook(folder)
    for name in options.family:
        book.family(name)
    if options.update and options.proofs:
        old = read_proofs(folder)
        proofs = find_proofs(book, old, options.family)
        write_proofs(folder, proofs)
        new = sum(old.get(claim) != proof for claim, proof in proofs.items())
        print(f"{len(proofs):8d}  claims with a proof ({new} new, {len(old.keys() - proofs.keys())} lost)")
        return 0
    if options.update:
        changes = update(folder, book, jobs, options.family, options.tiers, options.anew)
        if options.json:
            print_json({name: vars(change) for name, change in changes.items()})
        else:
            for name, change in changes.items():
                moved = f" ({change.added} added, {change.lost} lost)" if change.added or change.lost else ""
                print(f"{change.cases:8d}  {name}{moved}")
        return 0
    if options.anew:
        raise CtsError("--anew is for --update: leave it out")
    if options.proofs:
        raise CtsError("--proofs is for --update: leave it out; 'cts coverage --check' tries the proofs")
    if options.tiers:
        raise CtsError("--tiers is for --update: leave it out, or pin the tiers with 'cts golden --update --tiers'")
    differences = check(folder, book, jobs, options.family)
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
    print(f"{difference.family}: {len(difference.lost)} lost, {len(difference.altered)} altered")
    for note in difference.notes:
        print(f"    {note}")
    altered = [f"{id_} ({what})" for id_, what in difference.altered]
    for sign, ids in (("-", difference.lost), ("~", altered)):
        for id_ in ids[:limit]:
            print(f"    {sign} {id_}")
        if limit is not None and len(ids) > limit:
            print(f"    {sign} and {len(ids) - limit} more (--verbose names them)")
    family = "" if difference.is_gone else f" --family {difference.family}"
    print(f"    if this is meant, pin it: cts golden --update{family}")
