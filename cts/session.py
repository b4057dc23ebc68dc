"""What one run judges with: its settings, and the device that it holds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from cts.devices.choose import DeviceSpec
from cts.devices.device import Device, DeviceDescription
from generators.casebook import Tier

FrontEnd = Literal["spirv", "glsl"]
FRONT_ENDS: tuple[FrontEnd, ...] = ("spirv", "glsl")


@dataclass(frozen=True)
class Settings:
    """The choices of a run, equal in each of its processes. Picklable.

    Attributes:
        tier, front_end: as on the command line.
        spec: how to open the device.
        description: what the device said when it was chosen.
        why: why this device, one line.
        isolated: whether a child process holds the device.
        step_timeout: seconds that the device may take for one step, where it is isolated.
    """

    tier: Tier
    front_end: FrontEnd
    spec: DeviceSpec
    description: DeviceDescription
    why: str
    isolated: bool
    step_timeout: float


class DeviceHolder:
    """A device that is opened when first asked for, and anew after it was lost."""

    def __init__(self, open_device: Callable[[], Device]) -> None:
        self._open = open_device
        self._device: Device | None = None

    @property
    def device(self) -> Device:
        """The open device.

        Raises:
            DeviceError: it cannot be opened.
        """
        if self._device is None:
            self._device = self._open()
        return self._device

    def discard(self) -> None:
        """Lets go of the device, whatever state it is in; the next use opens a fresh one."""
        device, self._device = self._device, None
        if device is not None:
            # A lost device may fail to close in any way; the next one does not depend on it.
            with suppress(Exception):
                device.close()

    def close(self) -> None:
        """Closes the device if it is open."""
        device, self._device = self._device, None
        if device is not None:
            device.close()


def open_holder(settings: Settings) -> DeviceHolder:
    """A holder that opens the device of ``settings``, in a child process if they say so."""
    if settings.isolated:
        from cts.devices.isolation import IsolatedDevice

        return DeviceHolder(lambda: IsolatedDevice(settings.spec, settings.step_timeout, settings.description))
    from cts.devices.choose import open_device

    return DeviceHolder(lambda: open_device(settings.spec))
