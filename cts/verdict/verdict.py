"""Verdicts, and the result of one judged case. cts.journal.record defines its form in the journal."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from msgspec import Meta

from cts.printable import printable, printable_line
from cts.verdict.failure import Failure
from cts.verdict.sizes import Count, Ordinal, Seconds, Statistics


class Verdict(enum.StrEnum):
    """The result of a case. ``error`` is the suite's own fault; the other verdicts are about the device.

    ``compiled``: the device makes pipelines and dispatches nothing, and it made every pipeline of the case.
    ``quality_warning``: some values are permitted by the specification but not expected by this suite, and no others are wrong.
    ``resource_error``: the device is out of memory, even alone. ``flaky``: two runs alone disagree.
    ``known_fail``: golden/known_failures lists this failure for the driver. ``unexpected_pass``: a pass, although a failure is listed.
    """

    PASS = "pass"
    COMPILED = "compiled"
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


ENDED_WELL = frozenset({Verdict.PASS, Verdict.COMPILED})
"""The verdicts of a case in which the device did exactly what this suite expects of it."""


@dataclass(frozen=True)
class Try:
    """One of several runs of a case that led to its verdict.

    Attributes:
        fresh: whether the process that held the device was a fresh one: before this case it had run nothing but controls and other cases
            that had failed.
        alone: whether this process alone had the device open.
        verdict, code, reason, step, seconds: as in a result.
    """

    alone: bool
    verdict: Verdict
    reason: str
    step: str
    seconds: Seconds
    code: str = ""
    fresh: bool = False


@dataclass(frozen=True)
class Judgement:
    """The part of a result that judging decides.

    Attributes:
        verdict: how the case ended: see docs/verdicts.md.
        code: why, for programs (cts.verdict.codes); empty on ``pass``, and in journals of older versions of the suite.
        reason, message: the same for people: as one line, and as several lines. Their text may change in any version. On a pass the message
            is mostly empty, or says what the device chose.
        subcases: how many dispatches ran.
        policy: why the verdict depends on a policy of the suite; empty if it depends on the specification alone.
        failures: the failing arrays, in the order of the subcases; for a quality warning, the arrays with permitted values that are not
            expected.
        module: a digest of the SPIR-V that the device got, the one that golden/tiers pins for the front end ``spirv``; empty if there is
            no module, or if it was not compared what the device wrote.
        outputs: for each subcase, 8 digits of a digest of the elements that it must write, or as many ``-`` if some are wrong; empty if
            there are none.
    """

    verdict: Annotated[Verdict, Meta(title="Verdict")]
    code: Annotated[str, Meta(title="Code")] = ""
    reason: str = ""
    message: str = ""
    subcases: Annotated[Count, Meta(title="Subcases")] = 0
    policy: str = ""
    failures: tuple[Failure, ...] = ()
    module: str = ""
    outputs: str = ""


@dataclass(frozen=True, kw_only=True)
class CaseResult(Judgement):
    """The result of a case: one line of ``results.jsonl``.

    Attributes:
        id, family: the case and its family.
        parameters: the labels of the case by name, including defaults, which the id leaves out; a parameter that the case does not have is
            absent. Empty in journals of older versions of the suite, and if the process that judged the case died.
        known: the id of the known failure of the driver that explains the verdict; empty if none does.
        requirements, positions: ids of the requirements that the case exercises, and of the positions on which its verdict depends.
        device, driver, front_end, tier: the device and the configuration that judged it.
        unit: which of several devices of one run judged it: its number from 0 up, a colon, and its name for ``--device``; empty if the run
            has one device.
        seconds, steps: how long the case took: in total, and by step (``emit``, ``expect``, ``device``, ``compare``, and steps that the
            device reports, for example ``pipeline``).
        step: the step in which the device failed, by the name of a cts.devices.device.Step; empty if no step failed.
        attempt: the number of this attempt, from 1, if ``--repeat`` asks for several.
        tries: how each run ended, oldest first, if the case ran several times.
        driver_messages: what the driver said, through VK_EXT_debug_utils or VK_EXT_debug_report, in the step in which it failed.
        statistics: what the driver tells of the code of the case's pipelines, with ``--statistics``: value by executable and name, all as
            the driver names them.
    """

    id: Annotated[str, Meta(title="Case")]
    family: Annotated[str, Meta(title="Family")]
    parameters: Mapping[str, str] = field(default_factory=dict)
    known: Annotated[str, Meta(title="Known failure")] = ""
    requirements: tuple[str, ...] = ()
    positions: tuple[str, ...] = ()
    device: str = ""
    driver: str = ""
    front_end: str = ""
    tier: str = ""
    unit: str = ""
    seconds: Annotated[Seconds, Meta(title="Time", extra={"order": "slowest first"})] = 0.0
    steps: Mapping[str, Seconds] = field(default_factory=dict)
    step: Annotated[str, Meta(title="Failed in step")] = ""
    attempt: Annotated[Ordinal, Meta(title="Attempt")] = 1
    tries: tuple[Try, ...] = ()
    driver_messages: Annotated[tuple[str, ...], Meta(title="What the driver said")] = ()
    statistics: Annotated[Statistics, Meta(title="Compiled code")] = field(default_factory=dict)

    @property
    def defects(self) -> tuple[str, ...]:
        """Return the ids of the defects that explain a failing array: the first array that has an explanation."""
        if not self.failures:
            # Almost all results.
            return ()
        first = next((failure.matches for failure in self.failures if failure.matches), ())
        return tuple(dict.fromkeys(match.id for match in first if match.id))

    def __post_init__(self) -> None:
        # Messages of drivers and validation layers may contain anything. Here they lose everything that can control a terminal or break a
        # file.
        if self.message and not self.message.isprintable():
            object.__setattr__(self, "message", printable(self.message))
        if not "".join(self.driver_messages).isprintable():
            object.__setattr__(self, "driver_messages", tuple(map(printable, self.driver_messages)))
        for name, text in (("code", self.code), ("reason", self.reason), ("device", self.device), ("driver", self.driver)):
            if not text.isprintable():
                object.__setattr__(self, name, printable_line(text))
