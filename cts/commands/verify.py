"""Checks a conformance package, which 'cts submit' made, on a machine without the device. It must be the version of the suite that ran.

Everything that can be derived is derived again: which cases there must be, what the device lacks, expected results, digests of modules and
outputs, and the verdict on each recorded failure. Exit code: 0 if the package holds, 1 if it is refused, 2 if it cannot be read.
docs/conformance.md lists the reasons for a refusal, and what no check can see."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from cts.commands.context import print_json, root
from cts.commands.options import add
from cts.commands.submit import tell
from cts.conformance.checking import check_package
from cts.conformance.package import read_package
from cts.conformance.refusal import Refusal, Refused
from cts.conformance.suite import this_suite
from cts.exit_codes import FAILED, PASSED
from cts.verdict.verdict import Verdict


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("package", type=Path, metavar="PACKAGE", help="the archive")
    add(parser, "--json", "print the statement that follows from the results, and each reason for a refusal, as JSON")


def run(options: argparse.Namespace) -> int:
    """Check the package, and print what it shows."""
    refusals: tuple[Refusal, ...]
    try:
        checked = check_package(read_package(options.package), this_suite(root(options)))
        refusals, statement = checked.refusals, checked.statement
    except Refused as refused:
        refusals, statement = (refused.refusal,), {}
    if options.json:
        print_json({"statement": statement, "refusals": [{"id": one.id, "subject": one.subject, "text": one.text} for one in refusals]})
    elif refusals:
        tell(refusals)
    else:
        device, by_specification = statement["device"], statement["owed"]["verdicts"]
        counts = sum(map(Counter, by_specification.values()), Counter[str]())
        lacking, waived = counts[Verdict.NOT_SUPPORTED], counts[Verdict.KNOWN_FAIL]
        owed = counts.total() - lacking
        print(f"{device['name']}, {device['driver']}: passes {owed - waived:,} of the {owed:,} cases that it owes; {waived:,} are waived")
        print(f"  {lacking:,} more cases need what it lacks")
        for name, verdicts in by_specification.items():
            print(f"  {name}: {', '.join(f'{count:,} {verdict}' for verdict, count in verdicts.items())}")
        for waiver in statement["waivers"]:
            versions = f"versions {waiver['since']} to {waiver['until']}"
            print(f"  waiver {waiver['id']}: {waiver['cases']} cases, {versions}, until {waiver['expires']}: {waiver['reference']}")
    return FAILED if refusals else PASSED
