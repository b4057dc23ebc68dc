"""A child process that a worker starts before it knows which device to open.

Python starts in it, and the Vulkan drivers are loaded, while another process still asks the device for its description. The first device
that this process opens is opened in it. It compares its description with the run's, as any other opening does.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from cts.devices.child import ChildProcess
from cts.devices.device import DeviceError


def start_early() -> None:
    """Start the child. If that fails, the device is opened in an ordinary child, whose error is reported."""
    try:
        _waiting().append(ChildProcess(loads_drivers=True))
    except DeviceError:
        return


def early_child(environment: Mapping[str, str]) -> ChildProcess | None:
    """Return the child that was started, once; None if there is none, or if the device's child needs variables of its own."""
    return _waiting().pop() if _waiting() and not environment else None


@cache
def _waiting() -> list[ChildProcess]:
    """Return the list of the child that waits: what the fork server starts, this process's run takes from here."""
    return []
