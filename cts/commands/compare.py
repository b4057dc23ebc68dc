"""Compares runs with the first of them, by cause: new failures, fixed cases, changed verdicts and reasons, cases that only one run has,
and slower cases.

A regression is a case that fails (fail, crash, timeout, device_lost, flaky, error) and did not fail in the first run: it passed, was a
known failure (known_fail), was not supported, ran out of memory, or was not judged. If device and front end are the same, a case that
passed and is now not_supported is also a regression. A case that passed and now runs out of memory is listed, and is a regression with
--strict. A case that fails in both runs is not a regression, and neither is an unexpected_pass.

The exit code is 0 without regressions, 1 with one, and 2 if a journal cannot be read or has no case in common with A.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from cts.commands.context import print_json
from cts.commands.options import add
from cts.engine.report_writer import comparer
from cts.exit_codes import BAD_INPUT
from cts.journal.journal import RESULTS, journal_of
from cts.journal.renames import renames
from cts.output import complain
from generators.errors import CtsError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("first", type=Path, metavar="A", help="the run to compare with: a report directory, or its journal")
    parser.add_argument("later", type=Path, nargs="+", metavar="B", help="further runs, each compared with A")
    add(parser, "--json", "print every change as JSON (docs/compare.md has the schema)")
    add(parser, "--html")
    parser.add_argument("--common", action="store_true", help="compare only cases that both runs have judged, for example of two tiers")
    add(parser, "--cases", "how many cases of each cause the text names (default: %(default)s)", default=5)
    parser.add_argument("--fail-on-quality", action="store_true", help="a pass that becomes a quality_warning is also a regression")
    parser.add_argument("--strict", action="store_true", help="a pass that becomes a resource_error is also a regression")
    parser.add_argument("--fail-on-slower", action="store_true", help="a family or a case that is slower is also a regression")


def run(options: argparse.Namespace) -> int:
    """Print the comparison; exit code 1 if there are regressions."""
    journals = [options.first, *options.later]
    for path in journals:
        if not (journal_of(path) if path.is_dir() else path).is_file():
            raise CtsError(f"{path} holds no {RESULTS}: name the DIR of a 'pytest cts --report-dir DIR', or a folder of reports/published")
    if options.cases < 0:
        raise CtsError(f"--cases {options.cases}: must be an integer of 0 or more")
    found = comparer()(journals, renames(options.root), html=options.html, common=options.common, listed=options.cases)
    if options.json:
        print_json(found.document)
    else:
        print(found.text, end="")
    if found.incomparable:
        complain(f"{', '.join(found.incomparable)}: no case in common with the first run; an older suite may have had other ids")
        return BAD_INPUT
    bad = (
        found.regressions
        or (options.fail_on_quality and found.quality)
        or (options.strict and found.exhausted)
        or (options.fail_on_slower and found.slower)
    )
    return 1 if bad else 0
