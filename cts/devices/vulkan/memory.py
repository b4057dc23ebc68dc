"""One permanently mapped buffer in host-visible memory, which every case reuses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cts.devices.device import DriverRefused
from cts.devices.vulkan.api import CData, check, load, made
from cts.devices.vulkan.buffers import Buffers, MemoryType, memory_types
from cts.devices.vulkan.poisoned import MARGIN, PoisonedMemory

_STEP = 1 << 20
"""The size is a multiple of this. The smallest size fits almost all cases with both margins."""

_LARGE = 4
"""How much larger than needed the buffer may be, as a factor: all of it is compared after each run."""


class Arena:
    """A VkBuffer that grows when it is too small for a case, and shrinks when it is much too large.

    Args:
        physical: VkPhysicalDevice.
        device: VkDevice.
        addressable: whether the buffer gets a device address (feature bufferDeviceAddress).

    Raises:
        DriverRefused: the host can access no memory type of the device.

    Attributes:
        buffer: VkBuffer.
        address: device address of the first byte that dispatches may use; 0 if the buffer has no device address.
        start: offset of that byte in the buffer.
        memory: the mapped bytes of the buffer.
    """

    def __init__(self, physical: CData, device: CData, addressable: bool) -> None:
        self._vulkan = load()
        self._device = device
        self._buffers = Buffers(device, addressable)
        self._memory: CData = None
        self.buffer: CData = None
        self.address = 0
        self.start = MARGIN
        self.memory: PoisonedMemory | None = None
        self._size = 0
        self._types = coherent_types(memory_types(physical))

    def reserve(self, count: int) -> PoisonedMemory:
        """Make room for ``count`` bytes and a margin of MARGIN bytes on both sides. A new buffer loses the old contents.

        Raises:
            OutOfMemory: there is not enough memory.
            DeviceFailure: a call fails.
        """
        size = -(-(count + 2 * MARGIN) // _STEP) * _STEP
        if self.memory is not None and size <= self._size <= _LARGE * size:
            return self.memory
        self.close()
        vulkan = self._vulkan
        ffi, lib = vulkan.ffi, vulkan.lib
        usage = (
            vulkan.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
            | vulkan.VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT
            | vulkan.VK_BUFFER_USAGE_TRANSFER_SRC_BIT
            | vulkan.VK_BUFFER_USAGE_TRANSFER_DST_BIT
        )
        self.buffer = self._buffers.create(size, usage)
        needed = self._buffers.requirements(self.buffer)
        self._memory = self._buffers.allocate(needed.size, allowed_type(self._types, needed.memoryTypeBits))
        check("vkBindBufferMemory", lib.vkBindBufferMemory(self._device, self.buffer, self._memory, 0))
        mapped = ffi.new("void**")
        start = made("vkMapMemory", lib.vkMapMemory(self._device, self._memory, 0, size, 0, mapped), mapped)
        if address := self._buffers.address(self.buffer):
            self.address = address + MARGIN
        self.memory = PoisonedMemory(np.frombuffer(ffi.buffer(start, size), np.uint8))
        self._size = size
        return self.memory

    def close(self) -> None:
        """Free buffer and memory. No dispatch may be pending."""
        self.memory = None
        self.address = 0
        ffi, lib = self._vulkan.ffi, self._vulkan.lib
        if self.buffer is not None:
            lib.vkDestroyBuffer(self._device, self.buffer, ffi.NULL)
            self.buffer = None
        if self._memory is not None:
            lib.vkFreeMemory(self._device, self._memory, ffi.NULL)
            self._memory = None


def allowed_type(types: Sequence[int], allowed: int) -> int:
    """Return the first of some coherent memory types that is in the mask ``allowed``.

    Raises:
        DriverRefused: none is.
    """
    for index in types:
        if allowed >> index & 1:
            return index
    raise DriverRefused("vkGetBufferMemoryRequirements allows no host-visible and coherent memory type, although it must")


def coherent_types(types: Sequence[MemoryType]) -> tuple[int, ...]:
    """Return the numbers of the coherent memory types; first the cached ones, which the host reads fast.

    Raises:
        DriverRefused: there is none.
    """
    vulkan = load()
    coherent = vulkan.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vulkan.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
    found = [index for index, type_ in enumerate(types) if type_.flags & coherent == coherent]
    if not found:
        call = "vkGetPhysicalDeviceMemoryProperties"
        raise DriverRefused(f"{call} lists no host-visible and coherent memory type, although it must", call=call)
    return tuple(sorted(found, key=lambda index: not types[index].flags & vulkan.VK_MEMORY_PROPERTY_HOST_CACHED_BIT))
