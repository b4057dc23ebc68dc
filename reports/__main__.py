"""``python -m reports JOURNAL... --to DIR``: writes the reports of one or several journals."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from cts.printable import printable_line
from generators.errors import CtsError
from reports.writer import write


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the reports. Return the exit status: 0, or 2 with a line on standard error if something cannot be read or written."""
    parser = argparse.ArgumentParser(prog="python -m reports", description="Writes summary.json, junit.xml, summary.md and index.html.")
    parser.add_argument(
        "journals", nargs="+", type=Path, metavar="JOURNAL", help="a results.jsonl, or its directory; several journals are merged"
    )
    parser.add_argument("--to", type=Path, metavar="DIR", help="the folder to write to (default: the folder of the first journal)")
    parser.add_argument("--history", type=Path, metavar="FOLDER", help="holds the report directories of other runs, which pages show too")
    options = parser.parse_args(arguments)
    first: Path = options.journals[0]
    try:
        for fault in write(options.journals, options.to or (first if first.is_dir() else first.parent), options.history):
            print(printable_line(fault), file=sys.stderr)
    except CtsError as error:
        print(f"error: {printable_line(str(error))}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
