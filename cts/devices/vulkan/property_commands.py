"""A property command, called with an array that the caller chose."""

from __future__ import annotations

from cts.devices.property_commands import PropertyAnswer, PropertyCall, fresh
from cts.devices.vulkan.api import CData, address
from cts.devices.vulkan.instance import Instance
from cts.devices.vulkan.supplement import supplement


def ask(instance: Instance, physical_device: CData, call: PropertyCall) -> PropertyAnswer:
    """Make the call; the array has ``call.slots`` structures, of which the command is told ``call.capacity``."""
    ffi = supplement()
    command = ffi.cast("QueryRows", address(instance.address(call.command)))
    device = ffi.cast("void*", address(physical_device))
    count = ffi.new("uint32_t*")
    if call.capacity is None:
        return PropertyAnswer(int(command(device, count, ffi.NULL)), int(count[0]))
    count[0] = call.capacity
    array = fresh(call)
    result = command(device, count, ffi.cast("void*", array.ctypes.data))
    return PropertyAnswer(int(result), int(count[0]), array.tobytes())
