"""Handles a standard output that is closed or full, or whose reader is gone."""

from __future__ import annotations

import errno
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from cts.printable import printable_line
from cts.signals import Interruption

CLOSED = "standard output is closed"

STOP = "::stop-commands::"
"""Begins a line after which GitHub obeys no command in the output until a line with the word that follows, between colons."""

MOST_CHARACTERS = 4_000
"""The longest line that says what went wrong."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF, errno.EPIPE, errno.EFBIG)
"""The errors of a failed write to standard output. Errors of files have a file name, or become a CtsError."""


def unwritable(why: str) -> str:
    """Return the line that reports that nothing can be printed."""
    return f"cannot write the output: {why}; redirect it elsewhere"


def complain(message: str) -> None:
    """Print an error as one line on standard error, if that is open."""
    line = " ".join(printable_line(" ".join(message.split())).split())
    try:
        print(f"cts: {line if len(line) <= MOST_CHARACTERS else line[:MOST_CHARACTERS] + '…'}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        # Standard error is closed too, so only the exit code can report the error.
        return


@contextmanager
def commands_stopped(file: TextIO | None) -> Iterator[str]:
    """In a step of a GitHub workflow, let no text that the block prints be a command to GitHub. A driver may have written that text.

    Yield the word that lets GitHub obey commands again, if it stands between colons in a line; empty if this is no such step.

    Args:
        file: the output in which commands are stopped.
    """
    if os.environ.get("GITHUB_ACTIONS") != "true" or file is None:
        yield ""
        return
    word = secrets.token_hex(16)
    # If the output is full or closed, nothing in it is obeyed, and who prints the rest handles that.
    with suppress(OSError):
        print(f"{STOP}{word}", file=file, flush=True)
    try:
        yield word
    finally:
        with suppress(OSError):
            print(f"::{word}::", file=file, flush=True)


def is_full(error: OSError) -> bool:
    """Tell whether an error comes from standard output."""
    return error.filename is None and error.errno in _FULL


def silence(output: TextIO | None = None) -> None:
    """Discard further output, by default the standard output: Python would complain again when it closes it."""
    file = sys.stdout if output is None else output
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, file.fileno())
        # pytest's capture may restore the descriptor, so nothing may wait in the buffer.
        file.flush()
    except (AttributeError, OSError, ValueError):
        sys.stdout = os.fdopen(os.dup(nowhere), "w", encoding="utf-8")
    os.close(nowhere)


class OutputLost(Interruption):
    """Standard output accepts no more text."""


class GuardedOutput:
    """Standard output that reports the first write that fails, and discards everything after it.

    Attributes:
        is_lost: whether a write has failed.
        is_ending: whether the run ends, so a failure does not interrupt it.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self.is_lost = self.is_ending = False

    def write(self, text: str) -> int:
        """Write text."""
        if not self.is_lost:
            with self._watched():
                self._file.write(text)
        return len(text)

    def flush(self) -> None:
        """Write what is buffered."""
        if not self.is_lost:
            with self._watched():
                self._file.flush()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.is_lost = True
            silence(self._file)
            why = os.strerror(error.errno or errno.EIO)
            complain(unwritable(why))
            if not self.is_ending:
                raise OutputLost(f"cannot write to standard output: {why}") from None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@contextmanager
def guarded() -> Iterator[GuardedOutput]:
    """Guard the standard output that pytest's reporter takes when it is made in the block."""
    before, sys.stdout = sys.stdout, (guard := GuardedOutput(sys.stdout))
    try:
        yield guard
    finally:
        if sys.stdout is guard:
            sys.stdout = before
