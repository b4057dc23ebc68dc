"""Joins the report directories of all shards of a run ('--shard K/N') to one, which can be reported and resumed like a run without shards.

It ends with exit code 2 if a shard is missing, occurs twice, or belongs to another run (another device, driver, tier, selection or
version).
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from cts.commands.options import add
from cts.engine.report_writer import report_writer
from cts.journal.journal import RESULTS, claim
from cts.journal.merge import merge
from cts.output import complain


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("directories", nargs="+", type=Path, metavar="DIR", help="the report directory of a shard; in any order")
    add(parser, "--out", "the report directory of the whole run; it must hold no results", metavar="DIR", required=True)


def run(options: argparse.Namespace) -> int:
    """Join the shards, and write the reports of the whole run."""
    to: Path = options.out
    claimed = claim(to, "--out")
    try:
        merge(options.directories, to)
        for fault in report_writer()(to / RESULTS, to):
            complain(fault)
    finally:
        os.close(claimed)
    print(to / "index.html")
    return 0
