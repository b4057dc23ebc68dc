"""Collects the mistakes of a running module instead of stopping at the first: see ``EmbeddedDevice.observations``."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np


class Severity(enum.StrEnum):
    """The severity of an observation, the worst first."""

    UNDEFINED = "undefined behaviour"
    RULE = "broken rule of Vulkan"
    ROBUSTNESS = "relies on robustness"
    POSITION = "unspecified, and refused by a position of this suite"


_POSITION = "F-"
_VULKAN = ("VUID", "VK-")


def severity_of(rule: str) -> Severity:
    """Return the severity of a rule that a module breaks while it runs."""
    if rule.startswith(_POSITION):
        return Severity.POSITION
    return Severity.RULE if rule.startswith(_VULKAN) else Severity.UNDEFINED


def static_severity(rule: str) -> Severity:
    """Return the severity of a rule that a module breaks before it runs."""
    return Severity.POSITION if rule.startswith(_POSITION) else Severity.RULE


@dataclass(frozen=True)
class SourceLine:
    """A line of source code: ``file`` and ``line`` from the module's debug information, and ``text``, which may be empty."""

    file: str
    line: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Observation:
    """One instruction that breaks one rule.

    Attributes:
        severity, rule: see Severity and ``Violation``.
        text: what happened the first time, in one line.
        index: number of the instruction in the module, from 0; -1 if it is about no single instruction.
        instruction: disassembly of the instruction.
        source: the instruction's source line; None if the module does not state it.
        workgroup: where it happened first; None before any workgroup ran.
        invocation: the first one in that workgroup; None if it is not about single invocations.
        count: how often it happened: once for each execution by a workgroup.
        cause: what observations of the same rule have in common if one mistake causes them all, such as the memory or the place that an
            undefined value comes from. Without it, that is the source line, else the text.
    """

    severity: Severity
    rule: str
    text: str
    index: int
    instruction: str = ""
    source: SourceLine | None = None
    workgroup: tuple[int, int, int] | None = None
    invocation: int | None = None
    count: int = 1
    cause: str = ""


def by_cause(observations: Iterable[Observation]) -> tuple[tuple[Observation, ...], ...]:
    """Return observations in groups that have one cause, each group and the groups in the order of ``observations``."""
    groups: dict[tuple[Severity, str, str | SourceLine], list[Observation]] = {}
    for one in observations:
        groups.setdefault((one.severity, one.rule, one.cause or one.source or one.text), []).append(one)
    return tuple(map(tuple, groups.values()))


class Observations:
    """Collects observations, one for each instruction and rule.

    Args:
        described: completes an observation with the text of the instruction and its source line.
    """

    def __init__(self) -> None:
        self.described: Callable[[Observation], Observation] = lambda one: one
        self._found: dict[tuple[int, str], Observation] = {}

    def note(self, one: Observation) -> None:
        """Add an observation."""
        key = one.index, one.rule
        before = self._found.get(key)
        self._found[key] = self.described(one) if before is None else replace(before, count=before.count + one.count)

    def all(self) -> tuple[Observation, ...]:
        """Return all observations: the worst first, then in the order of the module."""
        order = list(Severity)
        return tuple(sorted(self._found.values(), key=lambda one: (order.index(one.severity), one.index)))


def first_invocation(mask: np.ndarray) -> int | None:
    """Return the number of the first invocation in a mask; None if it is empty."""
    places = np.flatnonzero(mask)
    return int(places[0]) if places.size else None
