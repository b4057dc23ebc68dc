"""Counts the cases of each family that GLSL can express, and says why it cannot express the others. Nothing is compiled."""

from __future__ import annotations

import argparse

from cts.commands.context import print_json
from cts.commands.options import add, selected_families, tier_of
from generators.casebook import CaseKind, Tier
from generators.glsl_coverage import FamilyInGlsl, glsl_coverage


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add(parser, "--tier", default=Tier.NIGHTLY)
    add(parser, "--family")
    add(parser, "--json", "print every family with counts and reasons as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the families with their reasons."""
    found = glsl_coverage(selected_families(options), tier_of(options))
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
