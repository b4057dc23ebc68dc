"""The limit of a search for explanations."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from generators.errors import GeneratorError, Rule

_BETWEEN = 0.004
"""Fewest seconds between two questions for the processor time."""


class SearchEnded(Exception):
    """The search has reached its limit: name what it has found, and say that it has ended early."""


@dataclass
class Limit:
    """The limit of one search.

    Attributes:
        seconds: of processor time, from the first check: what a process reads only once does not count.
        reached: whether the search has ended early.
    """

    seconds: float = math.inf
    reached: bool = False
    _begin: float = field(init=False, default=math.nan)
    _asked: float = field(init=False, default=-math.inf)

    def check(self, share: float = 1) -> None:
        """End the search if a share of the time is over.

        Raises:
            SearchEnded: it is.
        """
        # The processor time is slow to ask for.
        if time.monotonic() - self._asked < _BETWEEN:
            return
        now, self._asked = time.process_time(), time.monotonic()
        if math.isnan(self._begin):
            self._begin = now
        if now - self._begin > share * self.seconds:
            self.reached = True
            raise SearchEnded

    def of_part(self, share: float) -> Callable[[], None]:
        """Return a function that raises SearchEnded after a share of the time from now on. It ends a part of the search, not the search."""
        end = time.process_time() + share * self.seconds

        def check() -> None:
            if time.process_time() > end:
                raise SearchEnded

        return check

    def of_evaluation(self, steps: int) -> Callable[[], None]:
        """Return a function to call before each step of one evaluation.

        It raises SearchEnded at the limit of the search, and GeneratorError if the evaluation takes more than ``steps``: then a loop does
        not end, or not soon.
        """
        left = steps

        def before_step() -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise GeneratorError(Rule.ENDLESS_LOOP, f"the evaluation takes more than {steps} steps")
            self.check()

        return before_step
