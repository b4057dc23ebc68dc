"""Verdicts, and the record of one judged case: the line of ``results.jsonl``."""

from __future__ import annotations

import enum
from dataclasses import asdict, dataclass, field
from typing import Any


class Verdict(enum.StrEnum):
    """What became of a case. ``error`` is the suite's own fault; the others speak of the device.

    ``expected_fail`` is a failure that the family foresees and gives the reason of; ``unexpected_pass`` is a pass where it foresees one.
    """

    PASS = "pass"
    EXPECTED_FAIL = "expected_fail"
    UNEXPECTED_PASS = "unexpected_pass"
    FAIL = "fail"
    NOT_SUPPORTED = "not_supported"
    CRASH = "crash"
    TIMEOUT = "timeout"
    DEVICE_LOST = "device_lost"
    ERROR = "error"


@dataclass(frozen=True)
class CaseResult:
    """One line of ``results.jsonl``.

    Attributes:
        id, family: of the case. ``tier``: the tier of the run that selected it.
        verdict: one of Verdict. ``reason``: one line; empty on pass.
        message: the whole explanation of a failure, several lines; empty on pass.
        device, driver, front_end: what judged it.
        requirements: ids that the case covers.
        subcases: how many dispatches ran.
        seconds: wall time of the case: total, and by step (``emit``, ``expect``, ``device``, ``compare``, and what the device
            tells of itself, for example ``pipeline``).
        policy: why the verdict rests on a policy of the suite; empty if it rests on the specification alone.
        failures: for a failed case one record for each failing subcase (see cts.compare.Mismatch.record), for reports.
        positions: ids of what the suite holds where documents are ambiguous, on which verdicts of the family rest.
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
    subcases: int
    seconds: float
    message: str = ""
    policy: str = ""
    steps: dict[str, float] = field(default_factory=dict)
    failures: tuple[dict[str, Any], ...] = ()
    positions: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """The JSON object of the line."""
        return asdict(self)
