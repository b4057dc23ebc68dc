"""The command ``cts``: the tasks that pytest does not cover."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext

from cts.commands import VERBS
from cts.commands.parsers import first_parser, read, root_parser, split, verb_module, verb_parser
from cts.exit_codes import BAD_INPUT, interrupted
from cts.output import CLOSED, commands_stopped, complain, is_full, silence, unwritable
from cts.signals import ending
from cts.threads import use_one_thread
from generators.errors import CtsError
from generators.suggestion import suggestion


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a verb and return its exit code: 0; 1 if a check fails; 2, with one line on standard error, for bad input."""
    use_one_thread()
    first, rest = split(sys.argv[1:] if arguments is None else arguments)
    parser = first_parser()
    options = parser.parse_args(first)
    if not rest:
        parser.print_help()
        return BAD_INPUT
    verb, *given = rest
    if verb not in VERBS:
        complain(f"there is no command '{verb}'; {suggestion(verb, VERBS)}")
        return BAD_INPUT
    module = verb_module(verb)
    passes_on = hasattr(module, "PASSES_ON")
    if passes_on:
        _, options.others = root_parser().parse_known_args(given, options)
        if "--version" in options.others:
            parser.parse_args(["--version"])
    if not passes_on or {"-h", "--help"}.intersection(given):
        read(verb_parser(verb), given, options)
    if sys.stdout is None:
        complain(unwritable(CLOSED))
        return BAD_INPUT
    if isinstance(sys.stdout, io.TextIOWrapper):
        # File names may have any bytes, and terminals may lack any character.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        # A run of pytest stops commands itself, since it has some of its own.
        with ending(), nullcontext() if passes_on else commands_stopped(sys.stderr):
            code: int = module.run(options)
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
