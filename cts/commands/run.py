"""Judges a device, from any folder. A CASE is an id, as a report prints it; without one, all cases of the tier are judged.

This is 'pytest cts': it takes the options below, and all of pytest's and pytest-xdist's ('pytest --help').

Exit code: 0 if no case failed; 1 if one did; 2 if the request cannot be carried out, the device cannot be opened, or the run was
interrupted; 5 if nothing was tested. docs/verdicts.md has the verdicts and their exit codes."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from cts.checkout import INSTALLED, PACKAGE, PYTEST_INI
from cts.commands.context import root
from cts.commands.parsers import near_options, verb_parser
from cts.engine.options import OPTIONS
from cts.exit_codes import BAD_INPUT
from cts.output import complain
from generators.casebook import load_case

PASSES_ON = True
"""All arguments are passed on to pytest."""

_CASE = re.compile(r"(?:[^-].*\.yaml::)?[a-z][a-z0-9_]*\[[^\]]+\]$")
"""A case id, with or without the path before it that pytest prints."""

_TAKING_IDS = ("--deselect", "-k")
"""Options whose value may look like a case."""

_OF_PYTEST = {
    ("-k",): ("EXPRESSION", "only cases that match: words joined by 'and', 'or', 'not' and parentheses; see 'cts list --help'"),
    ("-n",): ("N", "spread the cases over N processes"),
    ("-x", "--exitfirst"): (None, "stop at the first failure"),
    ("--maxfail",): ("N", "stop after N failures"),
    ("--deselect",): ("CASE", "leave out a case, by its node id"),
    ("--collect-only", "--co"): (None, "list the selected cases, and judge none"),
    ("-q", "--quiet"): (None, "print less"),
    ("-v", "--verbose"): (None, "print a line for each case"),
}
"""The options of pytest and pytest-xdist that most runs need."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options for the help; pytest reads them."""
    parser.add_argument("cases", nargs="*", metavar="CASE", help="judge only this case; without one, all of the tier")
    group = parser.add_argument_group("options of the suite")
    for option in OPTIONS:
        group.add_argument(f"--{option.name}", **option.arguments)
    group = parser.add_argument_group("options of pytest and pytest-xdist that most runs need")
    for names, (metavar, about) in _OF_PYTEST.items():
        group.add_argument(*names, help=about, **({"metavar": metavar} if metavar else {"action": "store_true"}))  # type: ignore[arg-type]


def run(options: argparse.Namespace) -> int:
    """Run pytest and return its exit code."""
    folder = root(options)
    given: list[str] = list(options.others)
    named = [place for place, argument in enumerate(given) if _CASE.match(argument) and given[max(place - 1, 0)] not in _TAKING_IDS]
    for place in named:
        case = load_case(folder, given[place])
        given[place] = f"{case.definition.path}::{case.id}"
    if not named:
        given.insert(0, str(PACKAGE if folder == INSTALLED else folder / PACKAGE.name))
    # The suite has no assertions that pytest must rewrite. The plugin is named because a package that no installer has registered, such as
    # a copy on PYTHONPATH, has no entry points.
    code = int(pytest.main(["-p", "cts.run.plugin", "--assert=plain", *_where(folder), *given]))
    if code != pytest.ExitCode.USAGE_ERROR:
        return code
    _suggest(given, folder)
    return BAD_INPUT


def _where(folder: Path) -> list[str]:
    """Return pytest's options for its settings and its rootdir.

    Outside of a checkout, a run must use neither the settings of another project nor the folder of the installed suite, which may be
    read-only.
    """
    return ["-c", str(INSTALLED / PYTEST_INI), f"--rootdir={Path.cwd()}"] if folder == INSTALLED else [f"--rootdir={folder}"]


def _suggest(given: Sequence[str], folder: Path) -> None:
    """After pytest has refused the arguments, say what the user may have meant."""
    for clause in near_options(verb_parser("run"), given):
        complain(clause)
    for name in set(given).intersection(path.stem for path in folder.glob("cases/*/*.yaml")):
        complain(f"{name} is a family: 'cts run -k {name}' judges it")
