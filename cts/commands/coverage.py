"""Says which requirements of the specifications the families cover, which cannot be tested and why, and what is still open."""

from __future__ import annotations

import argparse
import sys

from cts.commands.context import casebook, print_json
from cts.run.plan import one_of
from generators.coverage import Coverage, Status, coverage

NAME = "coverage"
HELP = "say which requirements are covered"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("--specification", metavar="S", help="only this one, for example SPV_KHR_cooperative_matrix")
    parser.add_argument("--open", action="store_true", help="name every requirement that could be tested and is not")
    parser.add_argument(
        "--check",
        action="store_true",
        help="exit code 1, with a line for each fault on standard error: a requirement that is open in a finished "
        "specification, or cannot be tested and does not say why; a label that no product takes; a claim that no nightly case makes",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="every requirement with its families, their nightly cases, status and reason",
    )


def run(options: argparse.Namespace) -> int:
    """Prints the coverage."""
    book = casebook(options)
    wanted = options.specification
    if wanted is not None:
        known = dict.fromkeys(requirement.specification for requirement in book.requirements.values())
        wanted = one_of("--specification", wanted, tuple(known))
    found = coverage(book, wanted)
    if options.json:
        print_json(_document(found))
    else:
        _print(found, options.open)
    if not options.check:
        return 0
    for fault in found.faults:
        print(fault, file=sys.stderr)
    return 1 if found.faults else 0


def _print(found: Coverage, name_open: bool) -> None:
    for specification, counts in found.totals.items():
        parts = ", ".join(f"{count} {status}".replace("_", " ") for status, count in counts.items())
        why = f"; {found.unfinished[specification]}" if specification in found.unfinished else ""
        print(f"{specification}: {parts}, of {sum(counts.values())} requirements{why}")
    covered = [entry for entry in found.requirements if entry.status is Status.COVERED]
    if covered:
        print("\ncovered, with the cases of the nightly tier:")
        for entry in covered:
            print(f"  {entry.requirement.id:16s} {', '.join(f'{family} {count}' for family, count in entry.cases.items())}")
    if name_open:
        print("\nopen:")
        for entry in found.open:
            print(f"  {entry.requirement.id:16s} {entry.requirement.text}")
    if found.todo:
        print("\nto do:")
        for todo in found.todo:
            print(f"  {todo.family}: {todo.text}")
    if found.unused:
        print("\nlabels that no product takes:")
        for label in found.unused:
            print(f"  {label.family}: {label.parameter} {label.label}")


def _document(found: Coverage) -> dict[str, object]:
    return {
        "totals": found.totals,
        "unfinished": {name: why for name, why in found.unfinished.items() if name in found.totals},
        "requirements": [
            {
                "id": entry.requirement.id,
                "specification": entry.requirement.specification,
                "text": entry.requirement.text,
                "status": entry.status,
                "families": entry.families,
                "cases": entry.cases,
                "reason": entry.reason,
            }
            for entry in found.requirements
        ],
        "todo": [{"family": todo.family, "text": todo.text} for todo in found.todo],
        "unused": [{"family": label.family, "parameter": label.parameter, "label": label.label} for label in found.unused],
    }
