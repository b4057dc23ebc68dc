"""Ray tracing pipelines with nothing but one ray generation shader. It traces no ray, so no acceleration structure is needed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

from cts.devices.device import DriverRefused
from cts.devices.vulkan.api import CData, check, load, made
from cts.devices.vulkan.buffers import Buffers, memory_types
from cts.devices.vulkan.executable import Executable
from cts.devices.vulkan.instance import Instance
from cts.devices.vulkan.memory import allowed_type, coherent_types
from cts.devices.vulkan.structures import structure
from cts.devices.vulkan.supplement import PIPELINE_BIND_POINT_RAY_TRACING
from generators.kernel import Dispatch
from generators.stages import Draw

_MOST_BYTES = 1 << 16
"""The largest plausible size of a handle, and alignment of a shader binding table, in bytes."""


class RayGeneration:
    """Makes ray tracing pipelines.

    Args:
        instance: has the functions of the extension.
        physical: VkPhysicalDevice.
        device: VkDevice, with the features rayTracingPipeline and bufferDeviceAddress if a pipeline is made.
        limits: the device's limits, with shaderGroupHandleSize and shaderGroupBaseAlignment.
    """

    def __init__(self, instance: Instance, physical: CData, device: CData, limits: Mapping[str, int]) -> None:
        self._instance, self._physical, self._device = instance, physical, device
        self._handle_bytes, self._alignment = (limits.get(f"shaderGroup{name}", 0) for name in ("HandleSize", "BaseAlignment"))

    def make(self, draw: Draw, stage: CData, layout: CData, following: CData, cache: CData, flags: int) -> Executable:
        """Return a pipeline with a shader binding table of one entry; see Draws.make.

        Raises:
            DeviceFailure: the driver fails to create it.
        """
        vulkan, device = load(), self._device
        ffi, lib = vulkan.ffi, vulkan.lib
        for name, value in (("HandleSize", self._handle_bytes), ("BaseAlignment", self._alignment)):
            if not 0 < value <= _MOST_BYTES:
                raise DriverRefused(f"shaderGroup{name} is {value:,}; the suite accepts 1 to {_MOST_BYTES:,}")
        with ExitStack() as made_here:
            pipeline = self._pipeline(stage, layout, following, cache, flags)
            made_here.callback(lib.vkDestroyPipeline, device, pipeline, ffi.NULL)
            address = self._binding_table(pipeline, made_here)
            # The size of the region of a ray generation shader is its stride (VUID-vkCmdTraceRaysKHR-size-04023).
            entry = ffi.new("VkStridedDeviceAddressRegionKHR*", (address, self._handle_bytes, self._handle_bytes))
            nothing = ffi.new("VkStridedDeviceAddressRegionKHR*")
            trace = self._instance.function("vkCmdTraceRaysKHR")

            def dispatch(command_buffer: CData, _: Dispatch) -> None:
                trace(command_buffer, entry, nothing, nothing, nothing, draw.width, draw.height, 1)

            return Executable(
                bind_point=PIPELINE_BIND_POINT_RAY_TRACING,
                stage=stage.stage,
                wrote=vulkan.VK_PIPELINE_STAGE_RAY_TRACING_SHADER_BIT_KHR,
                begin=lambda command_buffer: lib.vkCmdBindPipeline(command_buffer, PIPELINE_BIND_POINT_RAY_TRACING, pipeline),
                dispatch=dispatch,
                end=lambda _: None,
                destroy=made_here.pop_all().close,
                pipeline=pipeline,
            )

    def _pipeline(self, stage: CData, layout: CData, following: CData, cache: CData, flags: int) -> CData:
        vulkan = load()
        ffi, unused = vulkan.ffi, vulkan.VK_SHADER_UNUSED_KHR
        stages = ffi.new("VkPipelineShaderStageCreateInfo[]", [stage])
        others = dict.fromkeys(("closestHitShader", "anyHitShader", "intersectionShader"), unused)
        general = vulkan.VK_RAY_TRACING_SHADER_GROUP_TYPE_GENERAL_KHR
        group = structure("VkRayTracingShaderGroupCreateInfoKHR", type=general, generalShader=0, **others)
        info = structure(
            "VkRayTracingPipelineCreateInfoKHR",
            pNext=following,
            flags=flags,
            stageCount=1,
            pStages=stages,
            groupCount=1,
            pGroups=group,
            layout=layout,
        )
        call, pipeline = "vkCreateRayTracingPipelinesKHR", ffi.new("VkPipeline*")
        return made(call, self._instance.function(call)(self._device, ffi.NULL, cache, 1, info, ffi.NULL, pipeline), pipeline)

    def _binding_table(self, pipeline: CData, made_here: ExitStack) -> int:
        """Return the device address of a shader binding table with the pipeline's one handle. ``made_here`` frees it."""
        vulkan, device = load(), self._device
        ffi, lib, buffers = vulkan.ffi, vulkan.lib, Buffers(device, True)
        handle, call = ffi.new("char[]", self._handle_bytes), "vkGetRayTracingShaderGroupHandlesKHR"
        check(call, self._instance.function(call)(device, pipeline, 0, 1, len(handle), handle))
        size = self._handle_bytes + self._alignment
        buffer = buffers.create(size, vulkan.VK_BUFFER_USAGE_SHADER_BINDING_TABLE_BIT_KHR)
        made_here.callback(lib.vkDestroyBuffer, device, buffer, ffi.NULL)
        needed = buffers.requirements(buffer)
        memory = buffers.allocate(needed.size, allowed_type(coherent_types(memory_types(self._physical)), needed.memoryTypeBits))
        made_here.callback(lib.vkFreeMemory, device, memory, ffi.NULL)
        check("vkBindBufferMemory", lib.vkBindBufferMemory(device, buffer, memory, 0))
        address = buffers.address(buffer)
        ahead = -address % self._alignment
        mapped = ffi.new("void**")
        start = made("vkMapMemory", lib.vkMapMemory(device, memory, 0, size, 0, mapped), mapped)
        ffi.memmove(start + ahead, handle, len(handle))
        lib.vkUnmapMemory(device, memory)
        return address + ahead
