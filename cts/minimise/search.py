"""The search for something smaller that still fails in the same way, and its budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")
Step = Callable[[T], Iterable[T]]
"""Gives candidates in place of the smallest so far, the simplest first."""


class Spent(Exception):
    """The runs or seconds are used up."""


@dataclass
class Budget:
    """The remaining budget of a search.

    Attributes:
        runs: how many cases may still run.
        seconds: the remaining seconds, from now on.
    """

    runs: int
    seconds: float
    clock: Callable[[], float] = time.monotonic
    used: int = 0
    _end: float = field(init=False)

    def __post_init__(self) -> None:
        self._end = self.clock() + self.seconds

    def take(self) -> None:
        """Count a run.

        Raises:
            Spent: no runs or seconds are left.
        """
        if self.used >= self.runs or self.clock() >= self._end:
            raise Spent
        self.used += 1


def smallest(start: T, steps: Callable[[T], Iterable[Step[T]]], holds: Callable[[T], bool]) -> Iterator[T]:
    """Yield ever smaller objects that hold, in rounds until a round finds none."""
    best, improved = start, True
    while improved:
        improved = False
        for smaller in one_round(best, steps(best), holds):
            best, improved = smaller, True
            yield best


def one_round(best: T, steps: Iterable[Step[T]], holds: Callable[[T], bool]) -> Iterator[T]:
    """Yield ever smaller objects that hold: the first candidate of each step, if it has one."""
    for step in steps:
        smaller = next(filter(holds, step(best)), None)
        if smaller is not None:
            best = smaller
            yield best
