"""Work in a thread of its own, which does not keep the process alive."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

_T = TypeVar("_T")


def in_background(work: Callable[[], _T], name: str) -> Future[_T]:
    """Begin to do ``work`` in a thread of that name, and return what waits for its result, or raises its error."""
    begun: Future[_T] = Future()

    def run() -> None:
        try:
            begun.set_result(work())
        except BaseException as error:
            # Who waits for the result gets it, whatever it is.
            begun.set_exception(error)

    Thread(target=run, daemon=True, name=name).start()
    return begun
