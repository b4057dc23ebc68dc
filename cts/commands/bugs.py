"""Lists the classes of real bugs in this field, and the families and parameters that would show each."""

from __future__ import annotations

import argparse
from dataclasses import fields

from cts.commands.context import casebook, print_json
from cts.commands.options import add
from generators.bug_classes import BugClass, load_bug_classes


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add(parser, "--json", "print every class with counts, families, specifications, tests and note as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the bugs."""
    classes = load_bug_classes(casebook(options))
    if options.json:
        names = [field.name for field in fields(BugClass)]
        print_json([{name: getattr(bug, name) for name in names} | {"families": dict(bug.families)} for bug in classes])
        return 0
    for bug in classes:
        print(f"{bug.name:8s} {bug.bugs} bugs, {bug.drivers} of drivers: {bug.what}")
        for family, parameters in bug.families.items():
            print(f"{'':8s} {family}: {', '.join(parameters)}")
        for specification in bug.specifications:
            print(f"{'':8s} not yet here: {specification}")
        for test in bug.tests:
            print(f"{'':8s} {test}")
        if bug.note:
            print(f"{'':8s} ({bug.note})")
    return 0
