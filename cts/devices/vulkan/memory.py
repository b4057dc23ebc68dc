"""One buffer in host-visible memory, mapped for good and reused by every case."""

from __future__ import annotations

from typing import Any

import numpy as np

from cts.devices.device import DriverRefused
from cts.devices.vulkan.api import CData, check, load
from cts.devices.vulkan.supplement import BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT, MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT

_SMALLEST = 1 << 22


class Arena:
    """A VkBuffer that grows when a case needs more than it has.

    Args:
        physical: VkPhysicalDevice.
        device: VkDevice.
        addressable: whether the buffer gets a device address (feature bufferDeviceAddress).

    Attributes:
        buffer: VkBuffer.
        address: its device address, 0 if it has none.
        memory: the mapped bytes, uint8.
    """

    def __init__(self, physical: CData, device: CData, addressable: bool) -> None:
        self._vulkan = load()
        self._device = device
        self._addressable = addressable
        self._memory: CData = None
        self.buffer: CData = None
        self.address = 0
        self.memory: np.ndarray[Any, np.dtype[np.uint8]] = np.empty(0, np.uint8)
        properties = self._vulkan.ffi.new("VkPhysicalDeviceMemoryProperties*")
        self._vulkan.lib.vkGetPhysicalDeviceMemoryProperties(physical, properties)
        self._types = [int(properties.memoryTypes[i].propertyFlags) for i in range(properties.memoryTypeCount)]

    def reserve(self, count: int) -> None:
        """Makes the buffer at least ``count`` bytes large. What it held is gone if it grows.

        Raises:
            DriverRefused: there is not so much memory.
        """
        if count <= self.memory.size:
            return
        self.close()
        vulkan = self._vulkan
        ffi, lib = vulkan.ffi, vulkan.lib
        size = max(_SMALLEST, 1 << (count - 1).bit_length())
        usage = vulkan.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
        if self._addressable:
            usage |= BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT
        info = ffi.new("VkBufferCreateInfo*", {"sType": vulkan.VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, "size": size, "usage": usage})
        buffer = ffi.new("VkBuffer*")
        check("vkCreateBuffer", lib.vkCreateBuffer(self._device, info, ffi.NULL, buffer))
        self.buffer = buffer[0]
        needed = ffi.new("VkMemoryRequirements*")
        lib.vkGetBufferMemoryRequirements(self._device, self.buffer, needed)
        flags = ffi.new(
            "VkMemoryAllocateFlagsInfo*",
            {
                "sType": vulkan.VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                "flags": MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT if self._addressable else 0,
            },
        )
        allocation = ffi.new(
            "VkMemoryAllocateInfo*",
            {
                "sType": vulkan.VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                "pNext": flags,
                "allocationSize": needed.size,
                "memoryTypeIndex": self._memory_type(needed.memoryTypeBits),
            },
        )
        memory = ffi.new("VkDeviceMemory*")
        check("vkAllocateMemory", lib.vkAllocateMemory(self._device, allocation, ffi.NULL, memory))
        self._memory = memory[0]
        check("vkBindBufferMemory", lib.vkBindBufferMemory(self._device, self.buffer, self._memory, 0))
        mapped = ffi.new("void**")
        check("vkMapMemory", lib.vkMapMemory(self._device, self._memory, 0, size, 0, mapped))
        self.memory = np.frombuffer(ffi.buffer(mapped[0], size), np.uint8)
        if self._addressable:
            about = ffi.new(
                "VkBufferDeviceAddressInfo*", {"sType": vulkan.VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, "buffer": self.buffer}
            )
            self.address = int(lib.vkGetBufferDeviceAddress(self._device, about))

    def _memory_type(self, allowed: int) -> int:
        """Coherent memory that the host reads fast, else any coherent memory."""
        vulkan = self._vulkan
        coherent = vulkan.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vulkan.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
        for wanted in (coherent | vulkan.VK_MEMORY_PROPERTY_HOST_CACHED_BIT, coherent):
            for index, flags in enumerate(self._types):
                if allowed >> index & 1 and flags & wanted == wanted:
                    return index
        raise DriverRefused("vkGetBufferMemoryRequirements allows no host-visible and coherent memory type, which every driver has to")

    def close(self) -> None:
        """Frees buffer and memory. No dispatch may be pending."""
        self.memory = np.empty(0, np.uint8)
        self.address = 0
        ffi, lib = self._vulkan.ffi, self._vulkan.lib
        if self.buffer is not None:
            lib.vkDestroyBuffer(self._device, self.buffer, ffi.NULL)
            self.buffer = None
        if self._memory is not None:
            lib.vkFreeMemory(self._device, self._memory, ffi.NULL)
            self._memory = None
