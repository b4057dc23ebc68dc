"""Chooses the queue on which a device's kernels run."""

from __future__ import annotations

from dataclasses import dataclass

from cts.devices.vulkan.api import CData, load
from cts.devices.vulkan.lists import bounded


@dataclass(frozen=True)
class QueueFamily:
    """A family of queues: its ``index`` and VkQueueFlags."""

    index: int
    flags: int


def compute_family(physical: CData) -> QueueFamily | None:
    """Return the first queue family for compute and graphics, otherwise the first for compute, otherwise None.

    Raises:
        DeviceFailure: the driver states too many families.
    """
    vulkan = load()
    ffi, lib = vulkan.ffi, vulkan.lib
    count = ffi.new("uint32_t*")
    lib.vkGetPhysicalDeviceQueueFamilyProperties(physical, count, ffi.NULL)
    room = bounded("vkGetPhysicalDeviceQueueFamilyProperties", count[0])
    families = ffi.new("VkQueueFamilyProperties[]", max(1, room))
    lib.vkGetPhysicalDeviceQueueFamilyProperties(physical, count, families)
    found = [QueueFamily(index, int(families[index].queueFlags)) for index in range(min(room, count[0]))]
    computing = [family for family in found if family.flags & vulkan.VK_QUEUE_COMPUTE_BIT]
    drawing = (family for family in computing if family.flags & vulkan.VK_QUEUE_GRAPHICS_BIT)
    return next(drawing, computing[0] if computing else None)
