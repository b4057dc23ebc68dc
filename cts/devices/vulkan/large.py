"""Large buffers in device memory. A dispatch passes and receives only windows of them; the host neither maps nor reads the rest.

The arena has the windows of a buffer one after the other, like the bytes of any other buffer. Commands copy them to the buffer before the
dispatch and back after it. The contents of the buffer between its windows are unknown.

With sparse residency, only the windows have memory, so gigabytes of addresses take some megabytes. Otherwise the whole buffer has memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cts.devices.device import OutOfMemory
from cts.devices.vulkan.api import CData, check, load
from cts.devices.vulkan.buffers import Buffers, memory_types
from cts.devices.vulkan.executable import Record
from cts.devices.vulkan.guarded import Layout
from cts.devices.vulkan.logical_device import LogicalDevice
from cts.devices.vulkan.memory import Arena
from cts.devices.vulkan.structures import structure
from generators.kernel import BufferSlot
from generators.windows import Windows


@dataclass(frozen=True)
class LargeBuffer:
    """A separate buffer, with its own memory.

    Attributes:
        place: index of the kernel's slot.
        slot: the kernel's slot, which has windows.
        buffer: VkBuffer.
        address: its device address, 0 if it has none.
    """

    place: int
    slot: BufferSlot
    buffer: CData
    address: int


def resident_ranges(windows: Windows, alignment: int, size: int) -> list[tuple[int, int]]:
    """Return the ranges of a sparse buffer that need memory for its windows: (first byte, bytes) of each, ascending and disjoint.

    Args:
        windows: the buffer's windows.
        alignment: the unit for binding memory, in bytes.
        size: the driver's size of the buffer in bytes, a multiple of the unit.
    """
    found: list[tuple[int, int]] = []
    for part in windows.parts:
        begin, end = part.first // alignment * alignment, min(-(-part.end // alignment) * alignment, size)
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], end
        else:
            found.append((begin, end))
    return [(begin, end - begin) for begin, end in found]


class LargeBuffers:
    """The large buffers of a kernel.

    Args:
        physical: VkPhysicalDevice.
        device: the device.
        addressable: whether buffers get a device address (feature bufferDeviceAddress).
        sparse: whether to bind memory only to windows (needs the feature sparseResidencyBuffer and a queue that can bind).
        slots: all slots of the kernel.

    Raises:
        OutOfMemory: there is not enough memory.
        DeviceFailure: a call fails.
    """

    def __init__(self, physical: CData, device: LogicalDevice, addressable: bool, sparse: bool, slots: Sequence[BufferSlot]) -> None:
        self._vulkan = load()
        self._types = memory_types(physical)
        self._device, self._queue = device.handle, device.queue
        self._calls, self._sparse = Buffers(device.handle, addressable), sparse
        self._made: list[CData] = []
        self._memories: list[CData] = []
        self.buffers: list[LargeBuffer] = []
        try:
            for place, slot in enumerate(slots):
                if slot.windows is not None:
                    self.buffers.append(self._make(place, slot))
        except BaseException:
            self.close()
            raise

    def _make(self, place: int, slot: BufferSlot) -> LargeBuffer:
        vulkan = self._vulkan
        usage = (
            vulkan.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | vulkan.VK_BUFFER_USAGE_TRANSFER_SRC_BIT | vulkan.VK_BUFFER_USAGE_TRANSFER_DST_BIT
        )
        sparse = vulkan.VK_BUFFER_CREATE_SPARSE_BINDING_BIT | vulkan.VK_BUFFER_CREATE_SPARSE_RESIDENCY_BIT
        buffer = self._calls.create(slot.span, usage, sparse if self._sparse else 0)
        self._made.append(buffer)
        needed = self._calls.requirements(buffer)
        assert slot.windows is not None, "a large buffer has windows"
        if self._sparse:
            self._bind_windows(buffer, resident_ranges(slot.windows, int(needed.alignment), int(needed.size)), int(needed.memoryTypeBits))
        else:
            memory = self._allocate(int(needed.size), int(needed.memoryTypeBits))
            check("vkBindBufferMemory", vulkan.lib.vkBindBufferMemory(self._device, buffer, memory, 0))
        return LargeBuffer(place, slot, buffer, self._calls.address(buffer))

    def _allocate(self, size: int, allowed: int) -> CData:
        """Allocate ``size`` bytes of memory. ``allowed`` is a mask of memory types."""
        memory = self._calls.allocate(size, self._memory_type(allowed, size))
        self._memories.append(memory)
        return memory

    def _bind_windows(self, buffer: CData, ranges: Sequence[tuple[int, int]], allowed: int) -> None:
        """Allocate memory and bind it to ``ranges`` of a sparse buffer: (first byte, bytes) of each."""
        vulkan = self._vulkan
        ffi, lib = vulkan.ffi, vulkan.lib
        memory = self._allocate(sum(count for _, count in ranges), allowed)
        binds = ffi.new("VkSparseMemoryBind[]", len(ranges))
        position = 0
        for bind, (first, count) in zip(binds, ranges, strict=True):
            bind.resourceOffset, bind.size, bind.memory, bind.memoryOffset = first, count, memory, position
            position += count
        of_buffer = ffi.new("VkSparseBufferMemoryBindInfo*", {"buffer": buffer, "bindCount": len(ranges), "pBinds": binds})
        info = structure("VkBindSparseInfo", bufferBindCount=1, pBufferBinds=of_buffer)
        check("vkQueueBindSparse", lib.vkQueueBindSparse(self._queue, 1, info, ffi.NULL), spent=True)
        check("vkQueueWaitIdle", lib.vkQueueWaitIdle(self._queue), spent=True)

    def _memory_type(self, allowed: int, size: int) -> int:
        """Choose a memory type whose heap is large enough, preferably device-local."""
        for wanted in (self._vulkan.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0):
            for index, type_ in enumerate(self._types):
                if allowed >> index & 1 and type_.flags & wanted == wanted and type_.heap >= size:
                    return index
        raise OutOfMemory(f"no memory heap of the device has {size:,} bytes for a large buffer")

    def copies(self, layout: Layout, arena: Arena) -> tuple[Record, Record]:
        """Return functions that record the copies of all windows to the buffers, and back. ``layout`` is the layout of one dispatch."""
        return self._recorder(layout, arena, there=True), self._recorder(layout, arena, there=False)

    def _recorder(self, layout: Layout, arena: Arena, there: bool) -> Record:
        vulkan = self._vulkan

        def record(command_buffer: CData) -> None:
            for large in self.buffers:
                assert large.slot.windows is not None, "a large buffer has windows"
                parts = large.slot.windows.parts
                regions = vulkan.ffi.new("VkBufferCopy[]", len(parts))
                held = arena.start + layout.offsets[large.place]
                for region, part in zip(regions, parts, strict=True):
                    region.srcOffset, region.dstOffset = (held, part.first) if there else (part.first, held)
                    region.size = part.bytes
                    held += part.bytes
                from_, to = (arena.buffer, large.buffer) if there else (large.buffer, arena.buffer)
                vulkan.lib.vkCmdCopyBuffer(command_buffer, from_, to, len(parts), regions)

        return record

    def close(self) -> None:
        """Free buffers and memory. No dispatch may be pending."""
        ffi, lib = self._vulkan.ffi, self._vulkan.lib
        for buffer in self._made:
            lib.vkDestroyBuffer(self._device, buffer, ffi.NULL)
        for memory in self._memories:
            lib.vkFreeMemory(self._device, memory, ffi.NULL)
        self._made.clear()
        self._memories.clear()
        self.buffers.clear()
