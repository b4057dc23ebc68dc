"""Prints the JSON schema of a result in results.jsonl; ``#/$defs/RunRecord`` in it is the schema of meta.json."""

from __future__ import annotations

import argparse

from cts.commands.context import print_json
from cts.journal.json_schema import json_schema


def configure(parser: argparse.ArgumentParser) -> None:
    """Add no arguments."""


def run(options: argparse.Namespace) -> int:  # noqa: ARG001 (every verb gets it)
    """Print the schema."""
    print_json(json_schema())
    return 0
