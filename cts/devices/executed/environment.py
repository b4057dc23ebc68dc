"""Finds what starts RADV for a chip that this suite executes: as for compiling alone, and the library that shows what is submitted."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from cts.devices.compile_only.chips import chip_named, find
from cts.devices.compile_only.library import built_library
from cts.devices.device import DeviceError

SOURCE = Path(__file__).with_name("submissions.c")

DRIVER = "radv"
"""The driver whose submissions are executed."""


def executing(name: str, environment: Mapping[str, str] = os.environ) -> Mapping[str, str]:
    """Return the variables to set for the child process in which the chip's driver runs and its submissions are executed.

    Raises:
        DeviceError: there is no such chip, it is not executed, or what it needs is not installed.
    """
    chip = chip_named(name)
    if chip.driver.name != DRIVER:
        raise DeviceError(f"--device executed:{name}: only chips of {DRIVER} are executed; --device {chip.device} compiles for it")
    library = built_library("submissions", [SOURCE], {}, environment)
    found = find(chip, environment)
    # Its ioctl comes first and calls that of the null kernel driver.
    return MappingProxyType({**found, "LD_PRELOAD": f"{library} {found['LD_PRELOAD']}"})
