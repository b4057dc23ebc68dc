"""Records, submits and awaits dispatches with one command buffer, one fence and one descriptor pool."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from cts.devices.device import DeviceTimeout, DriverRefused
from cts.devices.vulkan.api import NOT_READY, SUCCESS, TIMEOUT, CData, check, created, load, made, result_name
from cts.devices.vulkan.executable import Executable, Record
from cts.devices.vulkan.guarded import Layout
from cts.devices.vulkan.large import LargeBuffer
from cts.devices.vulkan.logical_device import LogicalDevice
from cts.devices.vulkan.memory import Arena
from cts.devices.vulkan.pipelines import Layouts, descriptor_type
from cts.devices.vulkan.structures import structure
from generators.kernel import BufferSlot, Dispatch

_SETS = 64
_DESCRIPTORS = 1024
_FOREVER = 2**64 - 1
"""A timeout in nanoseconds that makes vkWaitForFences wait without limit."""


class Commands:
    """Runs pipelines on the one queue of a device.

    Args:
        device: the device.
        fence_seconds: how long a submission may take; None for no limit.
    """

    def __init__(self, device: LogicalDevice, fence_seconds: float | None) -> None:
        self._vulkan = load()
        self._device = device
        self._nanoseconds = _FOREVER if fence_seconds is None else int(fence_seconds * 1e9)
        self._pool_room = (0, 0)
        self._descriptor_pool: CData = None
        vulkan = self._vulkan
        ffi, lib = vulkan.ffi, vulkan.lib
        pool_info = structure(
            "VkCommandPoolCreateInfo", flags=vulkan.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT, queueFamilyIndex=device.family
        )
        self._command_pool = created(lib, "VkCommandPool", device.handle, pool_info)
        self._command_buffers = ffi.new("VkCommandBuffer[]", 1)
        allocation = structure(
            "VkCommandBufferAllocateInfo",
            commandPool=self._command_pool,
            level=vulkan.VK_COMMAND_BUFFER_LEVEL_PRIMARY,
            commandBufferCount=1,
        )
        allocated = lib.vkAllocateCommandBuffers(device.handle, allocation, self._command_buffers)
        made("vkAllocateCommandBuffers", allocated, self._command_buffers)
        self._fences = ffi.new("VkFence[]", [created(lib, "VkFence", device.handle, structure("VkFenceCreateInfo"))])

    def run(
        self,
        executable: Executable,
        layouts: Sequence[Layouts],
        layout: Layout,
        arena: Arena,
        dispatches: Sequence[Dispatch],
        around: tuple[Record, Record] | None = None,
        large: Sequence[LargeBuffer] = (),
    ) -> None:
        """Run the dispatches in one submission and wait for them. The buffers of dispatch n begin n pitches after ``arena.start``.

        Args:
            executable: the kernel.
            layouts: the descriptor and pipeline layouts of each of its pipelines.
            layout: where its buffers are in a dispatch's range.
            arena: the memory.
            dispatches: the dispatches.
            around: record commands before and after the dispatches, if any. Barriers separate them from the dispatches.
            large: buffers that some slots use instead of the arena.

        Raises:
            DeviceTimeout: the submission takes longer than ``fence_seconds``.
            DeviceFailure: a call fails.
        """
        elsewhere = {buffer.place: buffer for buffer in large}
        of = [layouts[dispatch.pipeline] for dispatch in dispatches]
        sets, each = self._descriptor_sets(of, layout, arena, elsewhere), len(layouts[0].descriptor_sets)
        lib, vulkan = self._vulkan.lib, self._vulkan

        def record(command_buffer: CData) -> None:
            if around is not None:
                around[0](command_buffer)
                self._wait_for_all(command_buffer)
            executable.begin(command_buffer)
            for index, dispatch in enumerate(dispatches):
                if sets is not None:
                    point = executable.bind_point
                    lib.vkCmdBindDescriptorSets(command_buffer, point, of[index].pipeline, 0, each, sets + index * each, 0, vulkan.ffi.NULL)
                pushed = self._push_constants(dispatch, layout, arena.address + index * layout.pitch, elsewhere)
                if pushed:
                    bytes_ = vulkan.ffi.from_buffer(pushed)
                    lib.vkCmdPushConstants(command_buffer, of[index].pipeline, executable.stage, 0, len(pushed), bytes_)
                executable.dispatch(command_buffer, dispatch)
            executable.end(command_buffer)
            if around is not None:
                self._wait_for_all(command_buffer)
                around[1](command_buffer)
                self._wait_for_all(command_buffer)

        self.execute(record, executable.wrote)

    def _wait_for_all(self, command_buffer: CData) -> None:
        """Record a barrier: all later commands, and the host, wait for all earlier commands and see their writes."""
        vulkan = self._vulkan
        access = vulkan.VK_ACCESS_MEMORY_READ_BIT | vulkan.VK_ACCESS_MEMORY_WRITE_BIT
        everything = vulkan.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT
        self._barrier(command_buffer, (everything, access), (everything | vulkan.VK_PIPELINE_STAGE_HOST_BIT, access))

    def _barrier(self, command_buffer: CData, from_: tuple[int, int], to: tuple[int, int]) -> None:
        """Record a memory barrier between two pairs of stages and accesses."""
        vulkan = self._vulkan
        ffi = vulkan.ffi
        barrier = structure("VkMemoryBarrier", srcAccessMask=from_[1], dstAccessMask=to[1])
        vulkan.lib.vkCmdPipelineBarrier(command_buffer, from_[0], to[0], 0, 1, barrier, 0, ffi.NULL, 0, ffi.NULL)

    def execute(self, record: Record, wrote: int | None = None) -> None:
        """Run the commands that ``record`` records in one submission, and wait for it.

        Args:
            record: records the commands.
            wrote: the VkPipelineStageFlagBits of the shader whose writes the host then sees; None for compute.

        Raises:
            DeviceTimeout: the submission takes longer than ``fence_seconds``.
            DeviceFailure: a call fails.
        """
        vulkan, lib = self._vulkan, self._vulkan.lib
        command_buffer = self._command_buffers[0]
        begin = structure("VkCommandBufferBeginInfo", flags=vulkan.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT)
        # A failure from here on leaves queue, fence and command buffer in an unknown state, so they are not used again.
        check("vkBeginCommandBuffer", lib.vkBeginCommandBuffer(command_buffer, begin), spent=True)
        record(command_buffer)
        # The submission makes the host's writes visible to the device. The other direction needs a barrier.
        shader = wrote or vulkan.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, vulkan.VK_ACCESS_SHADER_WRITE_BIT
        self._barrier(command_buffer, shader, (vulkan.VK_PIPELINE_STAGE_HOST_BIT, vulkan.VK_ACCESS_HOST_READ_BIT))
        check("vkEndCommandBuffer", lib.vkEndCommandBuffer(command_buffer), spent=True)
        submit = structure("VkSubmitInfo", commandBufferCount=1, pCommandBuffers=self._command_buffers)
        check("vkQueueSubmit", lib.vkQueueSubmit(self._device.queue, 1, submit, self._fences[0]), spent=True)
        since = time.perf_counter()
        result = lib.vkWaitForFences(self._device.handle, 1, self._fences, 1, self._nanoseconds)
        if check("vkWaitForFences", result, TIMEOUT, spent=True) == TIMEOUT:
            seconds = None if self._nanoseconds == _FOREVER else self._nanoseconds / 1e9
            limit = "" if seconds is None else f" (its limit was {seconds:g} s)"
            text = f"vkWaitForFences returned VK_TIMEOUT after {time.perf_counter() - since:.3g} s{limit}"
            raise DeviceTimeout(text, limit=seconds)
        self._check_fence("vkWaitForFences", SUCCESS)
        check("vkResetFences", lib.vkResetFences(self._device.handle, 1, self._fences), spent=True)
        self._check_fence("vkResetFences", NOT_READY)

    def _check_fence(self, call: str, expected: int) -> None:
        """Check the fence's state after a successful call. Otherwise the next results would be read too early.

        Raises:
            DriverRefused: it is not the expected state.
        """
        status = check("vkGetFenceStatus", self._vulkan.lib.vkGetFenceStatus(self._device.handle, self._fences[0]), NOT_READY, spent=True)
        if status != expected:
            text = f"{call} returned VK_SUCCESS, but then vkGetFenceStatus returned {result_name(status)}"
            raise DriverRefused(text, spent=True, call=call, result=SUCCESS)

    def wait_idle(self) -> None:
        """Wait until nothing that was submitted runs any more.

        Raises:
            DeviceFailure: the call fails.
        """
        check("vkQueueWaitIdle", self._vulkan.lib.vkQueueWaitIdle(self._device.queue), spent=True)

    def convert(self, record: Record) -> None:
        """Run conversions as ``execute`` does. The host sees their writes.

        Raises:
            DeviceTimeout, DeviceFailure: see execute.
        """

        def recorded(command_buffer: CData) -> None:
            record(command_buffer)
            self._wait_for_all(command_buffer)

        self.execute(recorded)

    @staticmethod
    def _push_constants(dispatch: Dispatch, layout: Layout, base: int, elsewhere: Mapping[int, LargeBuffer]) -> bytes:
        block = bytearray(dispatch.push_constants)
        block += bytes(-len(block) % 4)
        for place, (slot, offset) in enumerate(zip(layout.slots, layout.offsets, strict=True)):
            if slot.address_offset is not None:
                address = elsewhere[place].address if place in elsewhere else base + offset
                block[slot.address_offset : slot.address_offset + 8] = address.to_bytes(8, "little")
        return bytes(block)

    def _descriptor_sets(self, layouts: Sequence[Layouts], layout: Layout, arena: Arena, elsewhere: Mapping[int, LargeBuffer]) -> CData:
        """Return the descriptor sets of the dispatches, one after another. ``layouts`` has the layouts of each dispatch."""
        places = enumerate(zip(layout.slots, layout.offsets, strict=True))
        bound = [(elsewhere.get(place), slot, offset) for place, (slot, offset) in places if slot.binding is not None]
        each = len(layouts[0].descriptor_sets) if layouts else 0
        if not each or not bound:
            return None
        descriptors = [descriptors_of([slot for _, slot, _ in bound], one.spare) for one in layouts]
        count, total = len(layouts), sum(map(len, descriptors))
        vulkan = self._vulkan
        ffi, lib = vulkan.ffi, vulkan.lib
        self._make_room(count * each, total)
        sets = ffi.new("VkDescriptorSet[]", count * each)
        set_layouts = ffi.new("VkDescriptorSetLayout[]", [handle for one in layouts for handle in one.descriptor_sets])
        allocation = structure(
            "VkDescriptorSetAllocateInfo", descriptorPool=self._descriptor_pool, descriptorSetCount=count * each, pSetLayouts=set_layouts
        )
        check("vkAllocateDescriptorSets", lib.vkAllocateDescriptorSets(self._device.handle, allocation, sets))
        if not all(sets):
            raise DriverRefused("vkAllocateDescriptorSets returned VK_SUCCESS and a null handle", call="vkAllocateDescriptorSets")
        ranges = ffi.new("VkDescriptorBufferInfo[]", total)
        writes = ffi.new("VkWriteDescriptorSet[]", total)
        position = 0
        for index, own in enumerate(descriptors):
            for slot, element, place in own:
                range_ = ranges[position]
                large, held, offset = bound[place]
                range_.buffer, range_.offset, range_.range = arena.buffer, arena.start + index * layout.pitch + offset, held.bytes
                if large is not None:
                    range_.buffer, range_.offset, range_.range = large.buffer, 0, held.span
                write = writes[position]
                write.sType = vulkan.VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET
                write.dstSet = sets[index * each + slot.descriptor_set]
                write.dstBinding = slot.binding
                write.dstArrayElement = element
                write.descriptorCount = 1
                write.descriptorType = descriptor_type(slot.is_uniform)
                write.pBufferInfo = ranges + position
                position += 1
        lib.vkUpdateDescriptorSets(self._device.handle, position, writes, 0, ffi.NULL)
        return sets

    def _make_room(self, sets: int, descriptors: int) -> None:
        """Reset the descriptor pool, or create a larger one if it is too small."""
        vulkan = self._vulkan
        ffi, lib = vulkan.ffi, vulkan.lib
        if self._descriptor_pool is not None and sets <= self._pool_room[0] and descriptors <= self._pool_room[1]:
            check("vkResetDescriptorPool", lib.vkResetDescriptorPool(self._device.handle, self._descriptor_pool, 0), spent=True)
            return
        if self._descriptor_pool is not None:
            lib.vkDestroyDescriptorPool(self._device.handle, self._descriptor_pool, ffi.NULL)
            self._descriptor_pool = None
        self._pool_room = max(_SETS, 2 * sets), max(_DESCRIPTORS, 2 * descriptors)
        kinds = (descriptor_type(False), descriptor_type(True))
        room = ffi.new("VkDescriptorPoolSize[]", [{"type": kind, "descriptorCount": self._pool_room[1]} for kind in kinds])
        info = structure("VkDescriptorPoolCreateInfo", maxSets=self._pool_room[0], poolSizeCount=len(room), pPoolSizes=room)
        self._descriptor_pool = created(lib, "VkDescriptorPool", self._device.handle, info)

    def close(self) -> None:
        """Destroy everything. No dispatch may be pending."""
        ffi, lib = self._vulkan.ffi, self._vulkan.lib
        if self._descriptor_pool is not None:
            lib.vkDestroyDescriptorPool(self._device.handle, self._descriptor_pool, ffi.NULL)
        lib.vkDestroyFence(self._device.handle, self._fences[0], ffi.NULL)
        lib.vkDestroyCommandPool(self._device.handle, self._command_pool, ffi.NULL)


def descriptors_of(slots: Sequence[BufferSlot], spare: int) -> list[tuple[BufferSlot, int, int]]:
    """Return a slot of the binding, the array element, and the index of the slot whose buffer it gets, of each descriptor.

    Spare descriptors come after the others of their binding and get the buffers of the slots that follow, of the same kind: code that
    takes one of them for a descriptor of the next binding reads or writes a wrong buffer.
    """
    own = [(slot, slot.element, place) for place, slot in enumerate(slots)]
    last = {(slot.descriptor_set, slot.binding): place for place, slot in enumerate(slots)}
    for place in last.values():
        slot = slots[place]
        alike = [other for other, each in enumerate(slots) if each.is_uniform == slot.is_uniform]
        first = alike.index(place) + 2
        own += [(slot, slot.element + 1 + number, alike[(first + number) % len(alike)]) for number in range(spare)]
    return own
