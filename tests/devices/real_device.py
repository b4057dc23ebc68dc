"""Finds a Vulkan device for tests. A driver without its hardware accepts everything and runs nothing, so it is none."""

from __future__ import annotations

from functools import cache

import pytest

from cts.devices.holder import DeviceHolder
from cts.devices.listing import DeviceListing, list_vulkan
from cts.devices.vulkan.device import VulkanDevice
from cts.engine.runner import judge
from cts.verdict.verdict import Verdict
from generators.casebook import find_case
from tests.suite import casebook


def real_device(feature: str = "") -> DeviceListing:
    """Return the first Vulkan device that has ``feature`` and runs shaders; skip the test if there is none."""
    found, why = _found(feature)
    if found is None:
        pytest.skip(why)
    return found


@cache
def _found(feature: str) -> tuple[DeviceListing | None, str]:
    """Return the device, or None and the reason."""
    found = list_vulkan()
    able = [listing for listing in found.devices if not feature or listing.description.features.get(feature)]
    if not able:
        return None, found.absent or f"no Vulkan device{f' with {feature}' if feature else ''}"
    holder = DeviceHolder(lambda: VulkanDevice(able[0].spec.name, able[0].spec.index))
    result = judge(find_case(casebook(), "plain_shaders[stage:compute]"), holder, "spirv", "smoke")
    holder.close()
    if result.verdict is not Verdict.PASS:
        return None, f"{able[0].description.name} runs no shader: {result.id} is {result.code}"
    return able[0], ""
