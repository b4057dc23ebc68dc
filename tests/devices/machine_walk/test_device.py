"""The run of a walk has the order of waves of the dispatch that failed."""

from __future__ import annotations

from contextlib import suppress
from types import SimpleNamespace

import pytest

from cts.devices.device import DeviceError
from cts.devices.executed.device import ORDERS
from cts.devices.machine_walk.device import WalkedDevice
from cts.devices.vulkan.device import VulkanDevice
from cts.verdict.machine import ElementPlace
from generators.kernel import BufferSlot, Dispatch, Kernel


@pytest.fixture
def begun(monkeypatch):
    """Return a device, and the numbers of the dispatches at which its runs begin."""
    numbers = []

    def run(device, *_):
        numbers.append(device._gpu.dispatches)
        raise DeviceError("no driver")

    monkeypatch.setattr(VulkanDevice, "run", run)
    device = object.__new__(WalkedDevice)
    device._gpu, device._before = SimpleNamespace(dispatches=0, generation="gfx12", watch=None), 0
    device._submissions = SimpleNamespace(raise_failure=lambda: None)
    return device, numbers


def test_a_walk_begins_at_the_number_of_the_failing_dispatch_and_later_runs_do_not(begun, monkeypatch):
    device, numbers = begun
    kernel = Kernel(b"", (BufferSlot("result", 0, 4),))
    dispatch = Dispatch(b"", ())
    monkeypatch.setenv(ORDERS, "5")
    with suppress(DeviceError):
        device.walk(kernel, dispatch, ElementPlace("result", 0, 4), 3)
    with suppress(DeviceError):
        device.run(kernel, [dispatch])
    assert numbers == [8, 5]
