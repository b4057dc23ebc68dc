"""Calls a property command with an array of the caller's size."""

from __future__ import annotations

from collections.abc import Callable

from cts.devices.property_commands import PropertyAnswer, PropertyCall, fresh
from cts.devices.vulkan.api import CData, address
from cts.devices.vulkan.instance import Instance
from cts.devices.vulkan.structures import structure
from cts.devices.vulkan.supplement import supplement


def ask(instance: Instance, physical_device: CData, call: PropertyCall) -> PropertyAnswer:
    """Make the call. The array has ``call.slots`` structures; the command gets the count ``call.capacity``."""
    ffi = supplement()
    command = _command(instance, call)
    device = ffi.cast("void*", address(physical_device))
    count = ffi.new("uint32_t*")
    if call.capacity is None:
        return PropertyAnswer(int(command(device, count, ffi.NULL)), int(count[0]))
    count[0] = call.capacity
    array = fresh(call)
    result = command(device, count, ffi.cast("void*", array.ctypes.data))
    return PropertyAnswer(int(result), int(count[0]), array.tobytes())


def _command(instance: Instance, call: PropertyCall) -> Callable[[CData, CData, CData], int]:
    """Return a function that calls the command with a physical device, a count and an array."""
    ffi = supplement()
    if call.info is None:
        command = ffi.cast("QueryRows", address(instance.address(call.command)))
        return lambda device, count, array: int(command(device, count, array))
    asking, asked = ffi.cast("QueryRowsOf", address(instance.address(call.command))), call.info
    info = structure(
        "VkPhysicalDeviceCooperativeMatrixInfo2EXT",
        scope=asked.scope,
        invocations=asked.invocations,
        subgroupSize=asked.subgroup_size,
        flags=asked.flags,
    )
    return lambda device, count, array: int(asking(device, info, count, array))
