"""Lists the positions that the suite takes where the specifications are ambiguous, and the families whose verdicts depend on each."""

from __future__ import annotations

import argparse

from cts.commands.context import casebook, print_json
from cts.commands.options import add


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add(parser, "--json", "print every position with question, reason and families as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the positions."""
    book = casebook(options)
    if options.json:
        print_json(
            [
                {"id": p.id, "question": p.question, "position": p.position, "because": p.because, "families": book.resting_on(p.id)}
                for p in book.positions.values()
            ]
        )
        return 0
    for position in book.positions.values():
        print(f"{position.id:10s} {position.question}\n{'':10s} {position.position}\n{'':10s} because {position.because}")
        print(f"{'':10s} families: {', '.join(book.resting_on(position.id)) or '(none yet)'}\n")
    return 0
