"""The presentation of verdicts in reports: their order, words and marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cts.verdict.verdict import Verdict


@dataclass(frozen=True)
class Wording:
    """How a verdict is shown.

    Attributes:
        label: the column heading and the badge.
        mark: a character that distinguishes verdicts without colour.
        sentence: the meaning of the verdict for a first-time reader.
    """

    label: str
    mark: str
    sentence: str


WORDING: Mapping[Verdict, Wording] = MappingProxyType(
    {
        Verdict.FAIL: Wording("Fail", "✗", "The device did what the specification does not allow; the reason says what."),
        Verdict.CRASH: Wording("Crash", "▼", "The process that held the device died while it ran this case."),
        Verdict.DEVICE_LOST: Wording("Device lost", "↯", "The device was lost in this case, even when nothing else ran."),
        Verdict.TIMEOUT: Wording("Timeout", "◷", "The device did not answer in time, and its process was ended."),
        Verdict.FLAKY: Wording("Flaky", "≈", "Two runs of this case alone ended differently."),
        Verdict.RESOURCE_ERROR: Wording("Out of memory", "□", "The device ran out of memory in this case, even when nothing else ran."),
        Verdict.ERROR: Wording("Suite error", "!", "The suite itself failed in this case. This says nothing about the device."),
        Verdict.UNEXPECTED_PASS: Wording(
            "Unexpected pass",
            "?",
            "The case did not fail, although the driver's known failures say that it fails: their list is out of date.",
        ),
        Verdict.KNOWN_FAIL: Wording("Known fail", "~", "The driver failed as its list of known failures says; the reason says how."),
        Verdict.QUALITY_WARNING: Wording(
            "Quality warning",
            "△",
            "The device returned values that the specification permits, but not all of them are what this suite expects.",
        ),
        Verdict.COMPILED: Wording("Compiled", "c", "The driver compiled the case. Nothing ran, so its results are unknown."),
        Verdict.PASS: Wording("Pass", "✓", "The device returned exactly what this suite expects."),
        Verdict.NOT_SUPPORTED: Wording("Not supported", "–", "The device does not offer what the case needs, so it was not run."),
    }
)
"""Worst first: the order of columns and lists in every report."""

BAD = (Verdict.FAIL, Verdict.CRASH, Verdict.DEVICE_LOST, Verdict.TIMEOUT, Verdict.FLAKY)
"""The verdicts that count against the device."""

EXPLAINED = (*BAD, Verdict.RESOURCE_ERROR, Verdict.ERROR, Verdict.UNEXPECTED_PASS, Verdict.QUALITY_WARNING)
"""The verdicts that causes explain."""

PAGED = (*EXPLAINED, Verdict.KNOWN_FAIL)
"""The verdicts with their own pages."""

COUNTED = (*BAD, Verdict.QUALITY_WARNING, Verdict.UNEXPECTED_PASS, Verdict.KNOWN_FAIL, Verdict.RESOURCE_ERROR, Verdict.ERROR)
"""The verdicts whose numbers are at the top of every report."""

NUMBERS: Mapping[str, str] = MappingProxyType(
    {str(verdict): WORDING[verdict].label for verdict in COUNTED} | {"timeout_compiling": "Timeout while compiling"}
)
"""The names of a headline's numbers in reports."""

SEVERITY: Mapping[Verdict, int] = MappingProxyType({verdict: place for place, verdict in enumerate(WORDING)})
"""Index of each verdict in WORDING."""
