"""Verdicts, and the result of one judged case. cts.journal.record defines its form in the journal."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from cts.printable import printable, printable_line
from cts.verdict.failure import Failure
from cts.verdict.sizes import Count, Ordinal, Seconds


class Verdict(enum.StrEnum):
    """The result of a case. ``error`` is the suite's own fault; the other verdicts are about the device.

    ``quality_warning``: some values are permitted by the specification but not expected by this suite, and no others are wrong.
    ``resource_error``: the device is out of memory, even alone. ``flaky``: two runs alone disagree.
    ``known_fail``: golden/known_failures lists this failure for the driver. ``unexpected_pass``: a pass, although a failure is listed.
    """

    PASS = "pass"
    QUALITY_WARNING = "quality_warning"
    KNOWN_FAIL = "known_fail"
    UNEXPECTED_PASS = "unexpected_pass"
    FAIL = "fail"
    NOT_SUPPORTED = "not_supported"
    CRASH = "crash"
    TIMEOUT = "timeout"
    DEVICE_LOST = "device_lost"
    FLAKY = "flaky"
    RESOURCE_ERROR = "resource_error"
    ERROR = "error"


@dataclass(frozen=True)
class Try:
    """One of several runs of a case that led to its verdict.

    Attributes:
        alone: whether no other process of the run had the device open.
        verdict, reason, step, code: as in CaseResult.
        seconds: wall time.
        fresh: whether the process that held the device had run no other case except controls and other failures.
    """

    alone: bool
    verdict: Verdict
    reason: str
    step: str
    seconds: Seconds
    code: str = ""
    fresh: bool = False


@dataclass(frozen=True)
class CaseResult:
    """The result of a case: one line of ``results.jsonl``.

    Attributes:
        id, family: the case's id and family.
        tier: the tier of the run that selected it.
        verdict: one of Verdict.
        reason: one line; empty on pass.
        message: the whole explanation of a failure, in several lines. On pass it is mostly empty, or says what the device chose.
        device, driver, front_end: the device, driver and front end that were judged.
        requirements: ids that the case covers.
        subcases: how many dispatches ran.
        seconds: wall time of the case: in all, and by step (``emit``, ``expect``, ``device``, ``compare``, and steps that the device
            reports, for example ``pipeline``).
        policy: why the verdict depends on a policy of the suite; empty if it depends only on the specification.
        failures: for a failed case, the mismatches that are not permitted, in the order of its subcases; for a quality warning, those that
            are permitted but not expected.
        positions: ids of the positions on which verdicts of the family depend.
        step: the step in which the device failed, by the name of a cts.devices.device.Step; empty if no step failed.
        attempt: the number of the judgement, from 1, if ``--repeat`` asks for several.
        tries: what happened each time that the case ran, oldest first; empty if it ran once.
        known: the id of the known failure that explains the verdict; empty if none does.
        parameters: name -> label of each parameter that the case has; empty in journals of older versions of the suite, and if the
            process that judged the case died.
        unit: which of several devices of one run judged it: its number from 0, a colon, and its ``--device`` argument; empty if the run
            has one device.
        code: ``reason`` for programs (cts.verdict.codes); empty on pass, and in journals of older versions of the suite.
    """

    id: str
    family: str
    verdict: Verdict
    reason: str = ""
    device: str = ""
    driver: str = ""
    front_end: str = ""
    tier: str = ""
    requirements: tuple[str, ...] = ()
    subcases: Count = 0
    seconds: Seconds = 0.0
    message: str = ""
    policy: str = ""
    steps: Mapping[str, Seconds] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()
    positions: tuple[str, ...] = ()
    step: str = ""
    attempt: Ordinal = 1
    tries: tuple[Try, ...] = ()
    code: str = ""
    known: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    unit: str = ""

    @property
    def defects(self) -> tuple[str, ...]:
        """Return the ids of the defects that explain a failing array: the first array that has an explanation."""
        first = next((failure.matches for failure in self.failures if failure.matches), ())
        return tuple(dict.fromkeys(match.id for match in first if match.id))

    def __post_init__(self) -> None:
        # Messages of drivers and validation layers may contain anything. Here they lose everything that can control a terminal or break a
        # file.
        if self.message and not self.message.isprintable():
            object.__setattr__(self, "message", printable(self.message))
        for name, text in (("code", self.code), ("reason", self.reason), ("device", self.device), ("driver", self.driver)):
            if not text.isprintable():
                object.__setattr__(self, name, printable_line(text))
