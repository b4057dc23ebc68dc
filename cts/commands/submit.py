"""Makes a conformance package of a finished run, which 'cts verify' checks on any machine.

DIR is the report directory of 'cts run --tier nightly --report-dir DIR'. Each result is judged again first, which
takes some minutes. If anything is missing, this says what, writes no package, and ends with exit code 1. docs/conformance.md has the steps
and the rules."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from cts.commands.context import root
from cts.conformance.checking import assembled
from cts.conformance.package import write_package
from cts.conformance.refusal import Check, Refusal, Refused
from cts.conformance.suite import this_suite
from cts.exit_codes import FAILED, PASSED
from cts.journal.journal import META, journal_of, opened
from cts.output import complain
from generators.errors import CtsError

_TOLD = 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("directory", type=Path, metavar="DIR", help="the report directory of the run")
    parser.add_argument("--to", type=Path, metavar="PACKAGE", required=True, help="the archive to write, for example h200.zip")
    parser.add_argument(
        "--waivers",
        type=Path,
        metavar="FILE",
        action="append",
        default=[],
        help="a file of known failures that the run got with --known-failures; may be given several times",
    )


def run(options: argparse.Namespace) -> int:
    """Check the run, and write the package."""
    directory: Path = options.directory
    if not options.to.parent.is_dir():
        raise CtsError(f"cannot write {options.to}: its folder does not exist; give --to another PACKAGE")
    try:
        with opened(journal_of(directory)) as journal:
            meta = (directory / META).read_bytes()
            waivers = {path.name: path for path in options.waivers}
            members, checked = assembled(meta, iter(journal), waivers, this_suite(root(options)))
    except OSError as error:
        raise CtsError(f"{error.filename}: {error.strerror}: name the DIR of a 'cts run --report-dir DIR', and its FILEs") from error
    except Refused as refused:
        return tell([refused.refusal])
    if checked.refusals:
        return tell(checked.refusals)
    write_package(options.to, members)
    print(options.to)
    return PASSED


def tell(refusals: Sequence[Refusal]) -> int:
    """Say why a package is refused, and return the exit code: for each reason, how often it holds and where first."""
    for check in Check:
        own = [one for one in refusals if one.check is check]
        for one in own[:_TOLD]:
            complain(str(one))
        if len(own) > _TOLD:
            complain(f"{check}: and {len(own) - _TOLD:,} more")
    return FAILED
