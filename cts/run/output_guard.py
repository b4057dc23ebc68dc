"""Ends a run of pytest, with its reports, when standard output fails."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import pytest

from cts.exit_codes import BAD_INPUT
from cts.output import complain, silence, unwritable
from cts.run.signals import Interruption


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


class OutputEnding:
    """A plugin of pytest: sets the exit code of a run whose output was lost."""

    def __init__(self, output: GuardedOutput) -> None:
        self._output = output

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        self._output.is_ending = True
        try:
            return (yield)
        finally:
            self._output.flush()
            if self._output.is_lost:
                session.exitstatus = BAD_INPUT
