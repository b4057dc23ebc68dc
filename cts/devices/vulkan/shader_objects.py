"""Compute kernels as shader objects (VK_EXT_shader_object) instead of pipelines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Any

from cts.devices.device import DriverRefused
from cts.devices.vulkan.api import CData, check, load, made
from cts.devices.vulkan.executable import Executable
from cts.devices.vulkan.instance import Instance
from cts.devices.vulkan.structures import structure
from cts.devices.vulkan.supplement import PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT
from generators.kernel import Dispatch

_MOST_BYTES = 1 << 28
"""The largest plausible size of the binary code of a shader, in bytes."""

_ALIGNMENT = 16
"""Alignment of binary code in bytes (VUID 08492 of VkShaderCreateInfoEXT)."""


class ShaderObjects:
    """Makes shader objects.

    Args:
        instance: has the functions of the extension.
        device: VkDevice, with the feature shaderObject.
    """

    def __init__(self, instance: Instance, device: CData) -> None:
        self._vulkan = load()
        self._instance = instance
        self._device = device
        self._functions: dict[str, Any] = {}

    def _function(self, name: str) -> Any:
        if name not in self._functions:
            self._functions[name] = self._instance.function(name)
        return self._functions[name]

    def make(self, stage: CData, spirv: bytes, layout: CData, through_binary: bool) -> Executable:
        """Return a shader object.

        Args:
            stage: VkPipelineShaderStageCreateInfo, without a module.
            spirv: the module.
            layout: VkShaderCreateInfoEXT with the layouts of descriptors and push constants.
            through_binary: whether to make it from the binary code of another shader object.

        Raises:
            DeviceFailure: the driver fails to create it.
        """
        vulkan, device = self._vulkan, self._device
        ffi = vulkan.ffi
        info = structure("VkShaderCreateInfoEXT", **layout)
        info.pNext, info.stage, info.pName, info.pSpecializationInfo = stage.pNext, stage.stage, stage.pName, stage.pSpecializationInfo
        if stage.flags & PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT:
            info.flags = vulkan.VK_SHADER_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT
        code = ffi.from_buffer("uint32_t[]", spirv)
        info.codeType, info.codeSize, info.pCode = vulkan.VK_SHADER_CODE_TYPE_SPIRV_EXT, len(spirv), ffi.cast("void*", code)
        shader = self._created(info)
        if through_binary:
            try:
                with self._binary(shader) as (data, size):
                    info.codeType, info.codeSize, info.pCode = vulkan.VK_SHADER_CODE_TYPE_BINARY_EXT, size, data
                    other = self._created(info)
            finally:
                self._destroy(shader)
            shader = other
        stages, shaders = ffi.new("VkShaderStageFlagBits[]", [stage.stage]), ffi.new("VkShaderEXT[]", [shader])
        bind, destroy = self._function("vkCmdBindShadersEXT"), self._function("vkDestroyShaderEXT")
        return Executable(
            bind_point=vulkan.VK_PIPELINE_BIND_POINT_COMPUTE,
            stage=stage.stage,
            wrote=vulkan.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
            begin=lambda command_buffer: bind(command_buffer, 1, stages, shaders),
            dispatch=lambda command_buffer, one: vulkan.lib.vkCmdDispatch(command_buffer, *one.workgroups),
            end=lambda _: None,
            destroy=lambda: destroy(device, shader, ffi.NULL),
        )

    def _created(self, info: CData) -> CData:
        created = self._vulkan.ffi.new("VkShaderEXT*")
        create = self._function("vkCreateShadersEXT")
        return made("vkCreateShadersEXT", create(self._device, 1, info, self._vulkan.ffi.NULL, created), created)

    def _destroy(self, shader: CData) -> None:
        self._function("vkDestroyShaderEXT")(self._device, shader, self._vulkan.ffi.NULL)

    @contextmanager
    def _binary(self, shader: CData) -> Iterator[tuple[CData, int]]:
        """Yield a pointer to the aligned binary code of a shader, and its size in bytes."""
        ffi, call = self._vulkan.ffi, "vkGetShaderBinaryDataEXT"
        get, size = self._function(call), ffi.new("size_t*")
        check(call, get(self._device, shader, size, ffi.NULL))
        room = int(size[0])
        if not 0 < room <= _MOST_BYTES:
            raise DriverRefused(f"{call} claims to have {room:,} bytes; the suite accepts 1 to {_MOST_BYTES:,}", call=call)
        memory = ffi.new("char[]", room + _ALIGNMENT)
        data = memory + -int(ffi.cast("uintptr_t", memory)) % _ALIGNMENT
        check(call, get(self._device, shader, size, data))
        if size[0] != room:
            raise DriverRefused(f"{call} claims to have written {size[0]:,} bytes of {room:,}", call=call)
        yield ffi.cast("void*", data), room


def in_turn(one: Executable, other: Executable) -> Executable:
    """Return an executable that alternates between a shader object and the pipeline ``other``. Both have the same stage."""

    turns = cycle((one, other))

    def dispatch(command_buffer: CData, given: Dispatch) -> None:
        turn = next(turns)
        turn.begin(command_buffer)
        turn.dispatch(command_buffer, given)

    def destroy() -> None:
        one.destroy()
        other.destroy()

    return Executable(one.bind_point, one.stage, one.wrote, lambda _: None, dispatch, lambda _: None, destroy, other.pipeline)
