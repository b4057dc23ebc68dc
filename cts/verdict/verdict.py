"""Verdicts, and the result of one judged case. cts.journal.record has its form in the journal."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from cts.printable import printable, printable_line
from cts.verdict.failure import Failure
from cts.verdict.sizes import Count, Ordinal, Seconds


class Verdict(enum.StrEnum):
    """The result of a case. ``error`` is the suite's own fault; the others speak of the device.

    ``quality_warning`` is a case with values that the specification permits and this suite does not expect, and with no others wrong.
    ``resource_error`` is a device out of memory, also alone; ``flaky`` is a case whose runs alone disagree.
    ``known_fail`` is a failure that golden/known_failures lists for the driver; ``unexpected_pass`` is a pass where it lists a failure.
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
    """

    alone: bool
    verdict: Verdict
    reason: str
    step: str
    seconds: Seconds
    code: str = ""


@dataclass(frozen=True)
class CaseResult:
    """The result of a case: one line of ``results.jsonl``.

    Attributes:
        id, family: of the case. ``tier``: the tier of the run that selected it.
        verdict: one of Verdict. ``reason``: one line; empty on pass.
        message: the whole explanation of a failure, several lines; on pass what the device chose where a choice is told, mostly empty.
        device, driver, front_end: what judged it.
        requirements: ids that the case covers.
        subcases: how many dispatches ran.
        seconds: wall time of the case: total, and by step (``emit``, ``expect``, ``device``, ``compare``, and what the device
            tells of itself, for example ``pipeline``).
        policy: why the verdict rests on a policy of the suite; empty if it rests on the specification alone.
        failures: of a failed case, what is not permitted, in the order of its subcases; of a quality warning, what is permitted and not
            expected.
        positions: ids of what the suite holds where documents are ambiguous, on which verdicts of the family rest.
        step: where the device failed, by the name of a cts.devices.device.Step; empty where no step did.
        attempt: which of the judgements that ``--repeat`` asks for this is, from 1 up.
        tries: what happened each time that the case ran, oldest first; empty where it ran once.
        known: id of the known failure that explains the verdict; empty where none does.
        parameters: name -> label of each parameter that the case has; empty in journals of older versions of the suite, and where the
            process that judged the case died.
        unit: which of several devices of one run judged it: its number from 0 up, a colon, and what ``--device`` takes; empty where the
            run has one device.
        code: what ``reason`` says, for programs (cts.verdict.codes); empty on pass, and in journals of older versions of the suite.
    """

    id: str
    family: str
    verdict: Verdict
    reason: str
    device: str
    driver: str
    front_end: str
    tier: str
    requirements: tuple[str, ...]
    subcases: Count
    seconds: Seconds
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
        """Return the ids of what explains the first failing array that anything explains."""
        first = next((failure.matches for failure in self.failures if failure.matches), ())
        return tuple(dict.fromkeys(match.id for match in first if match.id))

    def __post_init__(self) -> None:
        # The messages of drivers and validation layers may contain anything: from here on, nothing of it can steer a terminal or break a
        # file.
        if self.message and not self.message.isprintable():
            object.__setattr__(self, "message", printable(self.message))
        for name, text in (("code", self.code), ("reason", self.reason), ("device", self.device), ("driver", self.driver)):
            if not text.isprintable():
                object.__setattr__(self, name, printable_line(text))
