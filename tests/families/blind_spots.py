"""Finds the known defects that no case of a family shows.

    python -m tests.families.blind_spots [--tier smoke|nightly] [--jobs N] [FAMILY ...]

Looks, for each family of kernel cases and each defect of cts/defects that can occur in it, for a case whose expected result the defect
changes. Prints the defects without such a case, with the number of cases in which they can occur and one of those cases. Defects are
distinguished by kind: a defect's id, and those of its parameters that make it a different mistake.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

from cts.defects.defect import Defect
from cts.defects.known import known_defects
from cts.diagnosis.shown import Prepared, changes, prepared
from generators.casebook import CaseKind, Tier
from generators.errors import GeneratorError
from tests.families.unseen_defects import why_unseen
from tests.suite import casebook, programs


@dataclass(frozen=True)
class Blind:
    """A ``kind`` of defect that no case of ``family`` shows, the number of ``cases`` in which it can occur, and the first of them."""

    family: str
    kind: str
    cases: int
    example: str


def is_shown(defect: Defect, at: Prepared) -> bool:
    """Return whether a device with the defect fails the subcase."""
    try:
        return changes(defect, at)
    except (GeneratorError, LookupError, ValueError):
        return True


def blind_spots(name: str, tier: Tier) -> list[Blind]:
    """Return the blind spots of the family ``name`` in ``tier``.

    A defect that the reference model refuses to evaluate with the data of a case is not a blind spot: it stores to a wrong place, or its
    sums are not exact, and the case would show either.
    """
    shown: set[str] = set()
    hidden: dict[str, Blind] = {}
    for case, program in programs(name, tier):
        places: list[Prepared] = []
        for defect in known_defects(program):
            kind = defect.kind
            if kind in shown or why_unseen(name, defect):
                continue
            places = places or list(prepared(case, program))
            if any(is_shown(defect, at) for at in places):
                shown.add(kind)
                hidden.pop(kind, None)
            else:
                old = hidden.get(kind)
                hidden[kind] = Blind(name, kind, old.cases + 1 if old else 1, old.example if old else case.id)
    return list(hidden.values())


def main() -> int:
    """Search and print. Return 1 if a family does not show a defect that it must show, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tier", choices=("smoke", "nightly"), default="smoke", help="tier of the cases (default: smoke)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default: 2)")
    parser.add_argument("family", nargs="*", help="only these")
    arguments = parser.parse_args()
    names = arguments.family or [family.name for family in casebook() if family.kind is CaseKind.KERNEL]
    found = 0
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for blind in pool.map(partial(blind_spots, tier=arguments.tier), names):
            for one in blind:
                print(f"{one.family}: {one.kind}: {one.cases} cases, the first {one.example}", flush=True)
            found += len(blind)
    print(f"{found} blind spots in {len(names)} families")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
