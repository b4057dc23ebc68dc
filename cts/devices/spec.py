"""Describes how to open a device, in this process or another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

EMBEDDED = "embedded"
"""The embedded device's name for ``--device``."""

COMPILE_ONLY = "compile-only"
"""How ``--device`` names chips whose drivers compile without them; a chip's name follows after a colon."""

EXECUTED = "executed"
"""How ``--device`` names chips whose drivers' code this suite executes; a chip's name follows after a colon."""

DEFAULT_PROFILE = "universal"
"""The embedded device's default profile."""


@dataclass(frozen=True)
class DeviceSpec:
    """The information to open a device, in this process or another.

    Attributes:
        kind: ``vulkan``, ``embedded``, or ``factory`` (for tests of isolation).
        name: UUID of a Vulkan device; name or path of the embedded device's profile; ``module:function`` of a factory.
        index: the index of a Vulkan device in the loader's order, in case several have the same UUID.
        number: its number in ``cts devices``, if another device has the same UUID, so only ``index`` tells them apart; else -1.
        mapping: the embedded device's mapping, ``NAME:SEED``; empty for the default.
        validation: whether to load the validation layer.
        statistics: whether to collect statistics of compiled code, if the Vulkan driver has them.
        submission_seconds: how long one submission to a Vulkan device may take. Some drivers compile during a submission.
        environment: variables that the process of the device gets besides this process's own, by name.
        chip: the name of a chip whose driver compiles without it (cts.devices.compile_only); empty for other devices. Unless the device
            compiles only, this suite executes what the driver submits (cts.devices.executed).
        compiles_only: whether the device makes pipelines and dispatches nothing.
    """

    kind: Literal["vulkan", "embedded", "factory"]
    name: str
    index: int = 0
    mapping: str = ""
    validation: bool = False
    statistics: bool = False
    submission_seconds: float = 60.0
    number: int = -1
    environment: tuple[tuple[str, str], ...] = ()
    chip: str = ""
    compiles_only: bool = False

    @property
    def selector(self) -> str:
        """The value of ``--device`` for this device."""
        if self.chip:
            return f"{COMPILE_ONLY if self.compiles_only else EXECUTED}:{self.chip}"
        if self.number >= 0:
            return str(self.number)
        if self.kind != "embedded":
            return self.name
        return EMBEDDED if self.name == DEFAULT_PROFILE else f"{EMBEDDED}:{self.name}"
