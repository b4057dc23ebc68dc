"""The operations of the suite on the cases of one kind."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cts.devices.device import Device
from cts.front_ends import FrontEnd
from cts.verdict.codes import Reason
from cts.verdict.effort import Effort
from cts.verdict.sizes import Statistic, Statistics
from cts.verdict.verdict import Judgement, Verdict
from generators.casebook import Case

Json = dict[str, Any]


class Stopwatch:
    """Seconds by step, and what the driver tells of the code that it compiled meanwhile.

    Attributes:
        statistics: as in CaseResult.
        unfinished: the step whose block last raised; empty if none did.
    """

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.steps: dict[str, float] = {}
        self.statistics: dict[str, Mapping[str, Statistic]] = {}
        self.unfinished = ""

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Add the time of the block to ``name``, even if it raises."""
        begin = time.perf_counter()
        try:
            yield
        except BaseException:
            self.unfinished = self.unfinished or name
            raise
        finally:
            self.steps[name] = self.steps.get(name, 0.0) + time.perf_counter() - begin

    def add(self, device: Device, label: str) -> None:
        """Add the steps and the statistics of the device's last run.

        Args:
            device: the device; one that ``TellsOfCode`` has statistics.
            label: tells the pipeline of the run from the others of the case; may be empty.
        """
        for name, seconds in device.last_steps.items():
            self.steps[name] = self.steps.get(name, 0.0) + seconds
        told: Statistics = getattr(device, "last_statistics", {})
        self.statistics |= {f"{name} ({label})" if label else name: one for name, one in told.items()}

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.start


@dataclass(frozen=True)
class Kind:
    """The functions of one kind of case. Each of them gets only cases of that kind.

    Attributes:
        judged_by: the protocol of devices or validators that can judge such cases.
        unjudged: why others cannot, with ``{name}`` for the name of the device or validator.
        judge: judges a case on a device or validator, and explains a failure with some effort. Raises DeviceFailure if the device or
            validator fails, and another exception if the suite fails.
        digests: returns the digests of the case's module, inputs and expected results, in the order of the columns of ``golden/tiers``;
            ``-`` for a part that cases of this kind do not have.
        reproduce: writes the folder of ``cts repro``. Raises CtsError if it cannot.
    """

    judged_by: type[Any]
    unjudged: str
    judge: Callable[[Case, Any, FrontEnd, Stopwatch, Effort], Judgement]
    digests: Callable[[Case], tuple[str, str, str]]
    reproduce: Callable[[Case, Path, FrontEnd], None]


def not_supported(missing: Reason) -> Judgement:
    """Return the judgement of a case with a missing need."""
    return Judgement(Verdict.NOT_SUPPORTED, missing.code, one_line(missing.text), missing.text)


def one_line(text: str) -> str:
    """Return the first line of ``text`` that is not blank; empty if there is none."""
    lines = text.strip().splitlines()
    return lines[0].strip() if lines else ""
