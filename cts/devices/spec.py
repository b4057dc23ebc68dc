"""The information needed to open a device, in this process or another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

EMBEDDED = "embedded"
"""How ``--device`` names the embedded device."""

DEFAULT_PROFILE = "universal"
"""Of the embedded device."""


@dataclass(frozen=True)
class DeviceSpec:
    """How to open a device, in this process or another one.

    Attributes:
        kind: ``vulkan``, ``embedded``, or ``factory`` (for tests of isolation).
        name: UUID of a Vulkan device; profile of the embedded device, a name or a path; ``module:function`` of a factory.
        index: of a Vulkan device in the loader's order, in case several have the UUID.
        mapping: of the embedded device, ``NAME:SEED``; empty for its default.
        validation: whether to load the validation layer.
        submission_seconds: how long a Vulkan device may take for one submission. Some drivers compile in it.
        driver_files: the manifests of the drivers that a Vulkan loader is to load, as VK_DRIVER_FILES has them; empty for all that there
            are.
    """

    kind: Literal["vulkan", "embedded", "factory"]
    name: str
    index: int = 0
    mapping: str = ""
    validation: bool = False
    submission_seconds: float = 60.0
    driver_files: str = ""

    @property
    def selector(self) -> str:
        """The value of ``--device`` for this device."""
        if self.kind != "embedded":
            return self.name
        return EMBEDDED if self.name == DEFAULT_PROFILE else f"{EMBEDDED}:{self.name}"
