"""Judges a device: the same as 'pytest cts', whose options it takes (see 'pytest cts --help')."""

from __future__ import annotations

import argparse

import pytest

from cts.commands.context import root

NAME = "run"
HELP = "judge a device; the same as 'pytest cts'"
OPEN = True
"""Arguments that are not this verb's are passed on."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add nothing: pytest has the options."""
    parser.usage = "cts run [options of 'pytest cts'], for example: cts run --tier nightly -n 4"


def run(options: argparse.Namespace) -> int:
    """Run pytest and return its exit code."""
    folder = root(options)
    return int(pytest.main([f"--rootdir={folder}", str(folder / "cts"), *options.others]))
