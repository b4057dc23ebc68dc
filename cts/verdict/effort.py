"""The budget of a run for cases with known failures, and for explaining failures."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from cts.verdict.codes import is_within

SECONDS = 60.0
"""Default limit of the processor time that a process spends on diagnoses: a broken driver may fail every case."""

SECONDS_OF_FAILURE = 1.0
"""Default limit of the processor time for explaining one failing case."""


@dataclass
class Budget:
    """Processor time for all diagnoses of a process.

    Attributes:
        seconds: the seconds that are left.
        seconds_of_failure: the most seconds for one failing case.
        explained: the defects that explained failures, by family: how many failures each.
        tried: ids and parameters of defects that have been tried, by family; a search begins with others.
    """

    seconds: float = SECONDS
    seconds_of_failure: float = SECONDS_OF_FAILURE
    explained: dict[str, Counter[str]] = field(default_factory=dict)
    tried: dict[str, set[tuple[str, str]]] = field(default_factory=dict)

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Subtract the processor time of the block."""
        begin = time.process_time()
        try:
            yield
        finally:
            self.seconds -= time.process_time() - begin


@dataclass(frozen=True)
class Effort:
    """The facts about a case that are known before it is judged, and the budget for finding more.

    Attributes:
        foreseen: ids of defects that known failures of the driver name for the case. If one of them explains the results, the diagnosis
            tries no others.
        decided: codes, or their beginnings, of failures that are known whatever explains them.
        budget: the budget of the process. It is ignored if the known failures need a diagnosis to decide.
        rounds: how often a GPU runs each dispatch of a program that may race; a result that differs from the first is also compared.
        limit: seconds that the device may take for one step, if less than the limit of the run; None for the run's limit.
        foretold: whether the device is known to lack none of the case's pinned needs.
    """

    foreseen: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()
    budget: Budget = field(default_factory=Budget)
    limit: float | None = None
    rounds: int = 1
    foretold: bool = False

    def spared(self, code: str) -> str:
        """Return why a failure with this code is not diagnosed; empty if it is."""
        if any(is_within(code, known) for known in self.decided):
            return "not diagnosed: the failure is known, whatever explains it"
        if self.budget.seconds <= 0 and not self.foreseen:
            return "not diagnosed: this process has spent its time for diagnoses; judge the case alone, with -k, for an explanation"
        return ""
