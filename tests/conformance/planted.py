"""A pytest plugin for a run that tests start: it judges an embedded H200 that overwrites C as lavapipe does."""

from __future__ import annotations

from cts import judges
from cts.devices.device import DeviceDescription
from cts.devices.listing import Listed
from cts.devices.spec import DeviceSpec
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.engine import plan, session
from tests.broken_devices.test_broken_devices import OVERWRITING_C


def opened() -> EmbeddedDevice:
    return EmbeddedDevice(load_profile("nvidia-h200"), strict=False, faults=OVERWRITING_C)


def described() -> DeviceDescription:
    return opened().description


def choose(selector: str | None, seconds: float = 60.0, listed: Listed | None = None) -> judges.Choice:
    return judges.Choice(DeviceSpec("embedded", "nvidia-h200"), described(), "the broken one")


plan.choose = choose  # type: ignore[attr-defined]
session.open_judge = lambda spec: opened()  # type: ignore[attr-defined]
