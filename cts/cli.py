"""The command ``cts``: the tasks that pytest does not cover."""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from cts.checkout import suite_version
from cts.exit_codes import BAD_INPUT, interrupted
from cts.output import CLOSED, commands_stopped, complain, is_full, silence, unwritable
from cts.run.signals import ending
from generators.errors import CtsError

VERBS = (
    "devices",
    "list_cases",
    "show",
    "repro",
    "minimise",
    "report",
    "compare",
    "history",
    "merge",
    "coverage",
    "new_family",
    "golden",
    "spirv_val",
    "run",
    "known",
    "positions",
    "bugs",
    "glsl",
    "pages",
    "picture",
    "fuzz",
    "run_module",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a verb and return its exit code: 0; 1 if a check fails; 2, with one line on standard error, for bad input."""
    modules = [importlib.import_module(f"cts.commands.{verb}") for verb in VERBS]
    parser = _parser(modules)
    options, others = parser.parse_known_args(arguments)
    if others and not hasattr(options.verb, "OPEN"):
        options.usage.error(f"unrecognized arguments: {' '.join(others)}")
    options.others = others
    if sys.stdout is None:
        complain(unwritable(CLOSED))
        return BAD_INPUT
    if isinstance(sys.stdout, io.TextIOWrapper):
        # File names may have any bytes, and terminals may lack any character.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        # A run of pytest stops commands itself, since it has some of its own.
        with ending(), nullcontext() if hasattr(options.verb, "OPEN") else commands_stopped(sys.stderr):
            code: int = options.verb.run(options)
            sys.stdout.flush()
    except CtsError as error:
        complain(str(error))
        return BAD_INPUT
    except BrokenPipeError:
        # The reader (head, less) has closed the pipe.
        silence()
        return 0
    except OSError as error:
        if not is_full(error):
            raise
        silence()
        complain(unwritable(os.strerror(error.errno or errno.EIO)))
        return BAD_INPUT
    except KeyboardInterrupt as interrupt:
        return interrupted(interrupt)
    return code


class _Version(argparse.Action):
    """Prints the version of the suite and exits. The version is computed only then, because it needs a call of git."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        print(f"cts {suite_version()}")
        parser.exit()


def _parser(modules: Sequence[ModuleType]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cts",
        description="Conformance tests for Vulkan's cooperative matrix and vector extensions. 'pytest cts' judges a device; "
        "these commands show, reproduce and check cases.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the suite's version and exit")
    parser.add_argument(
        "--root", type=Path, metavar="DIR", help="the checkout with cases/ (default: the nearest one, from the current folder upwards)"
    )
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in modules:
        verb = verbs.add_parser(module.NAME, help=module.HELP, description=module.__doc__)
        module.configure(verb)
        verb.set_defaults(verb=module, usage=verb)
    return parser
