"""Ends a run of pytest, with its reports, when standard output fails."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import pytest

from cts.exit_codes import BAD_INPUT
from cts.run.output import complain, silence, unwritable
from cts.run.signals import Interruption


class OutputLost(Interruption):
    """Standard output accepts no more text."""


class _Guarded:
    """A text file that reports the first write that fails, and discards everything after it."""

    def __init__(self, file: TextIO, lost: Callable[[OSError], None]) -> None:
        self._file = file
        self._lost = lost
        self._is_lost = False

    def write(self, text: str) -> int:
        if not self._is_lost:
            with self._watched():
                self._file.write(text)
        return len(text)

    def flush(self) -> None:
        if not self._is_lost:
            with self._watched():
                self._file.flush()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._is_lost = True
            self._lost(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class OutputGuard:
    """A plugin of pytest: ends the run, with its reports, when standard output fails.

    Args:
        reporter: the reporter whose file it watches.
    """

    def __init__(self, reporter: pytest.TerminalReporter) -> None:
        writer = reporter._tw
        writer._file = self._file = _Guarded(writer._file, self._end)
        self._lost = self._ending = False

    def _end(self, error: OSError) -> None:
        self._lost = True
        silence()
        why = os.strerror(error.errno or errno.EIO)
        complain(unwritable(why))
        if not self._ending:
            raise OutputLost(f"cannot write to standard output: {why}")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        self._ending = True
        try:
            yield
        finally:
            self._file.flush()
            if self._lost:
                session.exitstatus = BAD_INPUT
