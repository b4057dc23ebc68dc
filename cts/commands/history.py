"""Shows how cases ended in runs, by device and front end: which do not end well now and since when, which are flaky, which became slower,
and which changed. It reads an archive ('cts archive'), or the report directories of a folder.

It needs DuckDB: pip install '.[farm]'.
"""

from __future__ import annotations

import argparse

from cts.commands.context import print_json
from cts.commands.options import add, add_expression, expression_of
from cts.engine.report_writer import historian
from cts.journal.renames import renames
from generators.errors import CtsError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("source", metavar="ARCHIVE", help="an archive, also as a URL, or a folder with report directories at any depth")
    add(parser, "case", "only this case, with all of its life", nargs="?", default="")
    add(parser, "--family", "only the cases of this family", action="store", default="")
    add_expression(parser, "only cases whose ids match, as for 'cts list', and also those that never changed")
    add(parser, "--device", "only runs of devices whose name contains DEVICE", default="")
    parser.add_argument(
        "--since", metavar="TIME", default="", help="only runs that started at this time or later, such as 2027-03 or 2027-03-15"
    )
    add(parser, "--json", "print everything as JSON (docs/archive.md has the schema)")
    add(parser, "--html", "also write a page with all cases, which needs no other file")
    add(parser, "--cases", "how many cases of each kind the text names (default: %(default)s)", default=40)


def run(options: argparse.Namespace) -> int:
    """Print the history."""
    if options.case and (options.family or options.expressions):
        raise CtsError("CASE names one case: leave out --family and -k")
    text, document = historian()(
        options.source,
        renames(options.root),
        expression_of(options),
        case=options.case,
        family=options.family,
        device=options.device,
        since=options.since,
        html=options.html,
        listed=max(options.cases, 0),
    )
    if options.json:
        print_json(document())
    else:
        print(text(), end="")
    return 0
