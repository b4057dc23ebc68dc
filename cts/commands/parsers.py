"""The parsers of the command line: one for what comes before a verb, whose help lists the verbs by job, and one for each verb."""

from __future__ import annotations

import argparse
import importlib
import re
import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from cts.commands import JOBS, VERBS, module_of
from generators.suggestion import suggestion

_LONG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_MOST_COLUMNS = 100
_ROOT = "--root"


class _Version(argparse.Action):
    """Prints the version of the suite and exits. The version is computed only then, because it needs a call of git."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from cts.checkout import suite_version

        print(f"cts {suite_version()}")
        parser.exit()


def split(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the options before the verb, and the verb with its arguments."""
    place = 0
    while place < len(arguments) and arguments[place].startswith("-"):
        place += 2 if arguments[place] == _ROOT else 1
    return arguments[:place], arguments[place:]


def root_parser() -> argparse.ArgumentParser:
    """Return the parser of ``--root``, which may be given before the verb and after it."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument(
        _ROOT,
        type=Path,
        metavar="DIR",
        default=argparse.SUPPRESS,
        help="the checkout with cases/ (default: the nearest one, from the current folder upwards)",
    )
    return parser


def first_parser() -> argparse.ArgumentParser:
    """Return the parser of the options before the verb."""
    width = max(map(len, VERBS))
    jobs = ("\n".join([f"{job}:", *(f"  {verb:{width}}  {about}" for verb, about in verbs.items())]) for job, verbs in JOBS.items())
    parser = argparse.ArgumentParser(
        prog="cts",
        usage="cts [-h] [--version] [--root DIR] COMMAND ...",
        description="\n\n".join(["Conformance tests for Vulkan's cooperative matrices and cooperative vectors.", *jobs]),
        epilog="'cts COMMAND --help' explains a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[root_parser()],
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the suite's version and exit")
    parser.set_defaults(root=None)
    return parser


def verb_module(verb: str) -> ModuleType:
    """Load the module of a verb."""
    return importlib.import_module(module_of(verb))


def verb_parser(verb: str) -> argparse.ArgumentParser:
    """Return the parser of a verb's arguments."""
    module = verb_module(verb)
    parser = argparse.ArgumentParser(
        prog=f"cts {verb}",
        description=_filled(module.__doc__ or ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[root_parser()],
        allow_abbrev=False,
    )
    module.configure(parser)
    return parser


def read(parser: argparse.ArgumentParser, given: Sequence[str], options: argparse.Namespace) -> None:
    """Read a verb's arguments into ``options``. An unknown one ends the program, and the message names near ones."""
    _, unknown = parser.parse_known_args(given, options)
    if unknown:
        parser.error("; ".join([f"unrecognized arguments: {' '.join(unknown)}", *near_options(parser, unknown)]))


def near_options(parser: argparse.ArgumentParser, given: Sequence[str]) -> list[str]:
    """Return a clause for each long option in ``given`` that is not one of the parser's."""
    known = set(_LONG.findall(parser.format_usage()))
    names = (argument.partition("=")[0] for argument in given if argument.startswith("--"))
    return [f"{name}: {suggestion(name, known)}" for name in names if name not in known]


def _filled(text: str) -> str:
    """Return the paragraphs of a text, each filled to the width of the terminal."""
    width = min(shutil.get_terminal_size().columns - 2, _MOST_COLUMNS)
    return "\n\n".join(textwrap.fill(" ".join(paragraph.split()), width) for paragraph in text.split("\n\n"))
