"""Judges a device: the same as 'pytest cts', whose options it takes (see 'pytest cts --help')."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from cts.checkout import INSTALLED, PACKAGE, PYTEST_INI
from cts.commands.context import root
from generators.casebook import Casebook, find_case, load_casebook

NAME = "run"
HELP = "judge a device, from any folder; the same as 'pytest cts'"
OPEN = True
"""Arguments that this verb does not know are passed on to pytest."""


_CASE = re.compile(r"(?:[^-].*\.yaml::)?[a-z][a-z0-9_]*\[[^\]]+\]$")
"""A case id, with or without the path before it that pytest prints."""

_TAKING_IDS = ("--deselect", "-k")
"""Options whose value may look like a case."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add nothing: pytest has the options."""
    parser.usage = "cts run [CASE...] [options of 'pytest cts'], for example: cts run --tier nightly -n 4"


def run(options: argparse.Namespace) -> int:
    """Run pytest and return its exit code."""
    folder = root(options)
    given: list[str] = list(options.others)
    named = [place for place, argument in enumerate(given) if _CASE.match(argument) and given[max(place - 1, 0)] not in _TAKING_IDS]
    if named:
        book = load_casebook(folder)
        for place in named:
            given[place] = _as_pytest_has_it(book, given[place])
    else:
        given.insert(0, str(PACKAGE if folder == INSTALLED else folder / PACKAGE.name))
    # The suite has no assertions that pytest must rewrite. The plugin is named because a package that no installer has registered, such as
    # a copy on PYTHONPATH, has no entry points.
    return int(pytest.main(["-p", "cts.run.plugin", "--assert=plain", *_where(folder), *given]))


def _where(folder: Path) -> list[str]:
    """Return pytest's options for its settings and its rootdir.

    Outside of a checkout, a run must use neither the settings of another project nor the folder of the installed suite, which may be
    read-only.
    """
    return ["-c", str(INSTALLED / PYTEST_INI), f"--rootdir={Path.cwd()}"] if folder == INSTALLED else [f"--rootdir={folder}"]


def _as_pytest_has_it(book: Casebook, id_: str) -> str:
    case = find_case(book, id_)
    return f"{case.definition.path}::{case.id}"
