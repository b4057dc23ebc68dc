"""Counts the cases of each family that GLSL can express, and says why it cannot express the others. Nothing is compiled."""

from __future__ import annotations

import argparse

from cts.commands.context import casebook, print_json
from cts.engine.plan import one_of
from cts.suggestion import suggestion
from generators.casebook import CaseKind, Tier
from generators.errors import CtsError
from generators.glsl_coverage import FamilyInGlsl, glsl_coverage

NAME = "glsl"
HELP = "list the cases that GLSL cannot express, and why"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("--tier", default="nightly", help="smoke, nightly or full (default: nightly)")
    parser.add_argument("--family", action="append", metavar="NAME", help="only this family; may be given several times")
    parser.add_argument("--json", action="store_true", help="every family with counts and reasons")


def run(options: argparse.Namespace) -> int:
    """Print the families with their reasons."""
    tier = Tier(one_of("--tier", options.tier, tuple(Tier)))
    families = casebook(options).families
    names = options.family or list(families)
    for name in names:
        if name not in families:
            raise CtsError(f"--family {name}: unknown; {suggestion(name, families)}")
    found = glsl_coverage((families[name] for name in names), tier)
    if options.json:
        print_json([_document(entry) for entry in found])
        return 0
    for entry in found:
        said = f"{entry.said} of {entry.cases}" if entry.family.kind is CaseKind.KERNEL else "runs no shader"
        print(f"{entry.family.name}: {said}")
        for refusal in entry.refusals:
            types = f" ({', '.join(refusal.types)})" if refusal.types else ""
            print(f"  {refusal.cases:5d}  {refusal.reason}{types}")
            print(f"         {refusal.example.id}")
    return 0


def _document(entry: FamilyInGlsl) -> dict[str, object]:
    return {
        "family": entry.family.name,
        "kind": entry.family.kind,
        "cases": entry.cases,
        "said": entry.said,
        "refusals": [{"reason": r.reason, "types": r.types, "cases": r.cases, "example": r.example.id} for r in entry.refusals],
    }
