"""A device on which nothing runs: it accepts everything that a profile supports, and each buffer keeps its contents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cts.devices.device import DeviceDescription
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.verdict.codes import Reason
from generators.kernel import Dispatch, Kernel, Outcome


class NullDevice:
    """An embedded device that runs nothing.

    Args:
        profile: the name of its profile.
    """

    def __init__(self, profile: str = "universal") -> None:
        self._device = EmbeddedDevice(load_profile(profile))

    @property
    def description(self) -> DeviceDescription:
        return self._device.description

    @property
    def last_steps(self) -> Mapping[str, float]:
        return {}

    def missing(self, kernel: Kernel) -> Reason | None:
        return self._device.missing(kernel)

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        return [unchanged(kernel, dispatch) for dispatch in dispatches]

    def close(self) -> tuple[()]:
        return self._device.close()


def unchanged(kernel: Kernel, dispatch: Dispatch) -> Outcome:
    """Return the outcome of a dispatch that writes nothing."""
    return Outcome({slot.name: contents.copy() for slot, contents in zip(kernel.buffers, dispatch.contents, strict=True) if slot.written})
