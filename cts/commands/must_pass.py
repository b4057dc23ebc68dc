"""Shows what a device owes: the cases that it must pass in a conformance run, by specification.

Without --device it counts the pinned cases of this version of the suite (golden/must_pass). With --device it adds the cases on rows that
only this device has, and counts the cases for which it lacks nothing. docs/conformance.md explains the rules."""

from __future__ import annotations

import argparse
from collections import Counter

from cts.commands.context import casebook, print_json
from cts.commands.options import add
from cts.conformance.owed import cases_of, check_must_pass, why_not_owed
from cts.conformance.support import Support
from cts.devices.spec import DeviceSpec
from cts.engine.selection import device_rows
from cts.judges import choose
from generators.errors import CtsError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add(parser, "--device")
    parser.add_argument("--ids", action="store_true", help="print the ids of the cases that are owed, as a list for --case-list")
    add(parser, "--json")


def run(options: argparse.Namespace) -> int:
    """Print the counts or the ids."""
    book = casebook(options)
    check_must_pass(book)
    rows: tuple[str, ...] = ()
    support = None
    if options.device:
        choice = choose(options.device)
        if not isinstance(choice.spec, DeviceSpec):
            raise CtsError(f"--device {options.device}: a validator owes nothing; name a device of 'cts devices'")
        rows, support = device_rows(choice.description), Support(choice.description)
    owed, supported = Counter[str](), Counter[str]()
    for family in book:
        for case in cases_of(family, rows):
            if why_not_owed(case):
                continue
            owed[family.specification] += 1
            is_supported = support is None or support.missing(case) is None
            supported[family.specification] += is_supported
            if options.ids and is_supported:
                print(case.id)
    if options.json:
        print_json({name: {"owed": owed[name], "supported": supported[name]} for name in sorted(owed)})
    elif not options.ids:
        for name in (*sorted(owed), "all"):
            counts = (owed.total(), supported.total()) if name == "all" else (owed[name], supported[name])
            print(f"{counts[0]:8,d}  {name}" + (f" ({counts[1]:,d} that the device supports)" if support else ""))
    return 0
