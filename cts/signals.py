"""Ends a run properly when the system asks for it: SIGTERM and SIGHUP do the same as Ctrl-C, and a second signal ends it at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

INTERRUPTED = f"ended by {signal.SIGINT.name}"
"""The reason to give for a KeyboardInterrupt that has no text."""


class Interruption(KeyboardInterrupt):
    """Ends the program like Ctrl-C; its text gives the reason."""


class Ended(Interruption):
    """A signal asks the program to end.

    Attributes:
        number: the number of the signal.
    """

    def __init__(self, number: int) -> None:
        self.number = signal.Signals(number)
        super().__init__(f"ended by {self.number.name}")


@contextmanager
def ending() -> Iterator[None]:
    """Raise Ended in the block at the first signal of ENDING. A signal that was already ignored stays ignored."""
    before = _install()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ignore() -> None:
    """Ignore SIGTERM and SIGHUP, which often go to all processes of a job: the process that started this one ends it."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)


def _install() -> dict[int, Any]:
    """Install the handler, and return the previous ones."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    before = {number: signal.getsignal(number) for number in ENDING}
    for number, handler in before.items():
        # nohup, or a shell's background job, ignores this signal on purpose.
        if handler is not signal.SIG_IGN:
            signal.signal(number, _end)
    return {number: handler for number, handler in before.items() if handler is not None}


def _end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 (Python passes it)
    for each in ENDING:
        if signal.getsignal(each) is _end:
            signal.signal(each, signal.SIG_DFL)
    raise Ended(number)
