"""Creates buffers and allocates their memory, and checks the driver's answers."""

from __future__ import annotations

from dataclasses import dataclass

from cts.devices.device import DriverRefused
from cts.devices.vulkan.api import CData, created, load, made
from cts.devices.vulkan.structures import structure
from cts.devices.vulkan.supplement import BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT, MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT

_MOST_TYPES = 32
"""VK_MAX_MEMORY_TYPES."""

_MOST_HEAPS = 16
"""VK_MAX_MEMORY_HEAPS."""


@dataclass(frozen=True)
class MemoryType:
    """A VkMemoryType.

    Attributes:
        flags: VkMemoryPropertyFlags.
        heap: size of its heap in bytes.
    """

    flags: int
    heap: int


def memory_types(physical: CData) -> tuple[MemoryType, ...]:
    """Return the memory types of a VkPhysicalDevice.

    Raises:
        DriverRefused: the driver states too many types, or the index of an impossible heap.
    """
    vulkan = load()
    properties = vulkan.ffi.new("VkPhysicalDeviceMemoryProperties*")
    vulkan.lib.vkGetPhysicalDeviceMemoryProperties(physical, properties)
    call, count = "vkGetPhysicalDeviceMemoryProperties", properties.memoryTypeCount
    if count > _MOST_TYPES:
        raise DriverRefused(f"{call} states {count:,} memory types; at most {_MOST_TYPES} are possible", call=call)
    found = []
    for number in range(count):
        type_ = properties.memoryTypes[number]
        if type_.heapIndex >= _MOST_HEAPS:
            raise DriverRefused(
                f"{call} puts memory type {number} in heap {type_.heapIndex:,}; at most {_MOST_HEAPS} heaps are possible", call=call
            )
        found.append(MemoryType(int(type_.propertyFlags), int(properties.memoryHeaps[type_.heapIndex].size)))
    return tuple(found)


class Buffers:
    """Makes the buffers of a device.

    Args:
        device: VkDevice.
        addressable: whether buffers get a device address (feature bufferDeviceAddress).
    """

    def __init__(self, device: CData, addressable: bool) -> None:
        self._vulkan = load()
        self._device, self._addressable = device, addressable

    def create(self, size: int, usage: int, flags: int = 0) -> CData:
        """Return a new VkBuffer.

        Args:
            size: bytes.
            usage: VkBufferUsageFlags. The bit for device addresses is added if needed.
            flags: VkBufferCreateFlags.

        Raises:
            DeviceFailure: the call fails.
        """
        if self._addressable:
            usage |= BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT
        return created(self._vulkan.lib, "VkBuffer", self._device, structure("VkBufferCreateInfo", flags=flags, size=size, usage=usage))

    def requirements(self, buffer: CData) -> CData:
        """Return the VkMemoryRequirements of a buffer."""
        needed = self._vulkan.ffi.new("VkMemoryRequirements*")
        self._vulkan.lib.vkGetBufferMemoryRequirements(self._device, buffer, needed)
        return needed

    def allocate(self, size: int, memory_type: int) -> CData:
        """Return new VkDeviceMemory of ``size`` bytes.

        Raises:
            OutOfMemory: there is not enough memory.
            DeviceFailure: the call fails.
        """
        vulkan = self._vulkan
        ffi = vulkan.ffi
        flags = structure("VkMemoryAllocateFlagsInfo", flags=MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT if self._addressable else 0)
        allocation = structure("VkMemoryAllocateInfo", pNext=flags, allocationSize=size, memoryTypeIndex=memory_type)
        out = ffi.new("VkDeviceMemory*")
        return made("vkAllocateMemory", vulkan.lib.vkAllocateMemory(self._device, allocation, ffi.NULL, out), out)

    def address(self, buffer: CData) -> int:
        """Return the device address of a buffer that has memory; 0 if buffers have no addresses.

        Raises:
            DriverRefused: the driver returns a null address.
        """
        if not self._addressable:
            return 0
        info = structure("VkBufferDeviceAddressInfo", buffer=buffer)
        address = int(self._vulkan.lib.vkGetBufferDeviceAddress(self._device, info))
        if not address:
            raise DriverRefused("vkGetBufferDeviceAddress returned a null address", call="vkGetBufferDeviceAddress")
        return address
