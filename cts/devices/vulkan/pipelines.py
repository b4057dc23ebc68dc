"""Pipelines and the layouts that they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from cts.devices.capabilities import STAGE_BITS
from cts.devices.device import DeviceDescription
from cts.devices.vulkan.api import CData, created, load, made
from cts.devices.vulkan.draws import Draws
from cts.devices.vulkan.executable import Executable, chosen_among
from cts.devices.vulkan.instance import Instance
from cts.devices.vulkan.pipeline_cache import cache_data, pipeline_cache
from cts.devices.vulkan.ray_generation import RayGeneration
from cts.devices.vulkan.shader_objects import ShaderObjects, in_turn
from cts.devices.vulkan.structures import structure
from cts.devices.vulkan.supplement import PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT
from generators.kernel import Kernel
from generators.stages import Stage


@dataclass(frozen=True)
class Shape:
    """The properties that two kernels must have in common to share their layouts.

    Attributes:
        bindings: (set, binding, number of descriptors, whether they are uniform buffers) of each.
        push_constant_bytes: size of the push constants, a multiple of 4.
        stage: the kernel's stage.
        spare: see generators.kernel.Kernel.spare_descriptors.
    """

    bindings: tuple[tuple[int, int, int, bool], ...]
    push_constant_bytes: int
    stage: Stage
    spare: int = 0

    @property
    def sets(self) -> int:
        """The number of descriptor sets; some may have no binding."""
        return max((place[0] + 1 for place in self.bindings), default=0)


@dataclass(frozen=True)
class Layouts:
    """A VkDescriptorSetLayout for each set, the VkPipelineLayout, and the number of spare descriptors at each binding."""

    descriptor_sets: tuple[CData, ...]
    pipeline: CData
    spare: int


def shape_of(kernel: Kernel) -> Shape:
    """Return the shape of a kernel's interface."""
    slots = [slot for slot in kernel.buffers if slot.binding is not None]
    counts = Counter((slot.descriptor_set, slot.binding or 0, slot.is_uniform) for slot in slots)
    bindings = tuple(sorted((set_, binding, count, is_uniform) for (set_, binding, is_uniform), count in counts.items()))
    return Shape(bindings, -(-kernel.push_constant_bytes // 4) * 4, _stage(kernel), kernel.spare_descriptors)


def descriptor_type(is_uniform: bool) -> int:
    """Return the VkDescriptorType of a buffer."""
    vulkan = load()
    kind: int = vulkan.VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER if is_uniform else vulkan.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
    return kind


def _stage(kernel: Kernel) -> Stage:
    return "compute" if kernel.draw is None else kernel.draw.stage


class Pipelines:
    """Makes pipelines, and keeps their layouts.

    Args:
        physical: VkPhysicalDevice.
        device: VkDevice.
        description: the device's description.
        instance: has the functions of extensions.
        flags: VkPipelineCreateFlags of every pipeline.
    """

    def __init__(self, physical: CData, device: CData, description: DeviceDescription, instance: Instance, flags: int = 0) -> None:
        self._flags = flags
        self._vulkan = load()
        self._device = device
        self._layouts: dict[Shape, Layouts] = {}
        self._draws = Draws(device)
        self._ray_generation = RayGeneration(instance, physical, device, description.limits)
        self._shader_objects = ShaderObjects(instance, device)
        self._subgroup_size = description.subgroup_size
        features, limits = description.features, description.limits
        compute = self._vulkan.VK_SHADER_STAGE_COMPUTE_BIT
        varies = limits.get("minSubgroupSize", 0) != limits.get("maxSubgroupSize", 0)
        allowed = features.get("subgroupSizeControl", False) and limits.get("requiredSubgroupSizeStages", 0) & compute
        self._requires_size = bool(varies and allowed)
        full = PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT
        self._stage_flags = full if features.get("computeFullSubgroups", False) else 0

    @contextmanager
    def also(self, flags: int) -> Iterator[None]:
        """Create pipelines with further VkPipelineCreateFlags in the block."""
        usual, self._flags = self._flags, self._flags | flags
        try:
            yield
        finally:
            self._flags = usual

    def layouts(self, shape: Shape) -> Layouts:
        """Return the layouts for a shape. Create them only once."""
        known = self._layouts.get(shape)
        if known is None:
            known = self._layouts[shape] = self._make_layouts(shape)
        return known

    def _make_layouts(self, shape: Shape) -> Layouts:
        vulkan = self._vulkan
        ffi, lib = vulkan.ffi, vulkan.lib
        set_layouts: list[CData] = []
        for number in range(shape.sets):
            set_layouts.append(self._make_set_layout(shape, number))
        sets = ffi.new("VkDescriptorSetLayout[]", set_layouts)
        pushed = self._pushed(shape)
        info = structure(
            "VkPipelineLayoutCreateInfo",
            setLayoutCount=shape.sets,
            pSetLayouts=sets,
            pushConstantRangeCount=1 if shape.push_constant_bytes else 0,
            pPushConstantRanges=pushed,
        )
        return Layouts(tuple(set_layouts), created(lib, "VkPipelineLayout", self._device, info), shape.spare)

    def _make_set_layout(self, shape: Shape, number: int) -> CData:
        """Return the VkDescriptorSetLayout of a set."""
        vulkan = self._vulkan
        ffi, lib = vulkan.ffi, vulkan.lib
        own = [place[1:] for place in shape.bindings if place[0] == number]
        bindings = ffi.new("VkDescriptorSetLayoutBinding[]", len(own))
        for entry, (binding, count, is_uniform) in zip(bindings, own, strict=True):
            entry.binding = binding
            entry.descriptorType = descriptor_type(is_uniform)
            entry.descriptorCount = count + shape.spare
            entry.stageFlags = STAGE_BITS[shape.stage]
        info = structure("VkDescriptorSetLayoutCreateInfo", bindingCount=len(own), pBindings=bindings)
        return created(lib, "VkDescriptorSetLayout", self._device, info)

    def _pushed(self, shape: Shape) -> CData:
        """Return the VkPushConstantRange of a shape."""
        return self._vulkan.ffi.new("VkPushConstantRange*", {"stageFlags": STAGE_BITS[shape.stage], "size": shape.push_constant_bytes})

    def create(self, kernel: Kernel) -> Executable:
        """Return the pipelines of the kernel, which one VkShaderModule gives, or a shader object.

        Raises:
            DeviceFailure: the driver fails to create it.
        """
        vulkan = self._vulkan
        ffi, lib = vulkan.ffi, vulkan.lib
        if kernel.shader_object in ("spirv", "binary"):
            return self._shader_object(kernel)
        code = ffi.from_buffer("uint32_t[]", kernel.spirv)
        module_info = structure("VkShaderModuleCreateInfo", codeSize=len(kernel.spirv), pCode=code)
        module = created(lib, "VkShaderModule", self._device, module_info)
        with ExitStack() as undone:
            with ExitStack() as through:
                through.callback(lib.vkDestroyShaderModule, self._device, module, ffi.NULL)
                pipelines = []
                for one in kernel.all:
                    pipelines.append(self._through_cache(one, module) if one.pipeline_cache else self._compile(one, module))
                    undone.callback(pipelines[-1].destroy)
            executable = in_turn(self._shader_object(kernel), pipelines[0]) if kernel.shader_object else chosen_among(pipelines)
            undone.pop_all()
        return executable

    def _shader_object(self, kernel: Kernel) -> Executable:
        """Return the kernel as a shader object."""
        ffi, shape = self._vulkan.ffi, shape_of(kernel)
        sets = ffi.new("VkDescriptorSetLayout[]", list(self.layouts(shape).descriptor_sets))
        pushed = self._pushed(shape)
        layout = {
            "setLayoutCount": len(sets),
            "pSetLayouts": sets,
            "pushConstantRangeCount": 1 if shape.push_constant_bytes else 0,
            "pPushConstantRanges": pushed,
        }
        with self._stage_of(kernel) as stage:
            return self._shader_objects.make(stage, kernel.spirv, layout, kernel.shader_object == "binary")

    def _through_cache(self, kernel: Kernel, module: CData) -> Executable:
        """Create the pipeline twice and return the second one, whose cache begins with the data of the first one's cache."""
        with pipeline_cache(self._device) as first:
            self._compile(kernel, module, first).destroy()
            data = cache_data(self._device, first)
        with pipeline_cache(self._device, data) as second:
            return self._compile(kernel, module, second)

    def _compile(self, kernel: Kernel, module: CData, cache: CData = None) -> Executable:
        vulkan = self._vulkan
        ffi = vulkan.ffi
        # Only for the pipelines that need robust access: it would hide stray writes.
        robustness = structure(
            "VkPipelineRobustnessCreateInfoEXT",
            storageBuffers=vulkan.VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS_2_EXT,
            uniformBuffers=vulkan.VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_ROBUST_BUFFER_ACCESS_2_EXT,
        )
        layout = self.layouts(shape_of(kernel)).pipeline
        following = robustness if kernel.robust else ffi.NULL
        through = ffi.NULL if cache is None else cache
        with self._stage_of(kernel) as stage:
            stage.module = module
            if kernel.draw is not None and kernel.draw.stage == "raygen":
                return self._ray_generation.make(kernel.draw, stage, layout, following, through, self._flags)
            if kernel.draw is not None:
                return self._draws.make(kernel.draw, stage, layout, following, through, self._flags)
            return self._compute(stage, layout, following, through)

    @contextmanager
    def _stage_of(self, kernel: Kernel) -> Iterator[CData]:
        """Yield the kernel's VkPipelineShaderStageCreateInfo, without a module. It is valid only in the block."""
        vulkan = self._vulkan
        ffi = vulkan.ffi
        entries, data = self._specialization(kernel)
        values = ffi.from_buffer(data)
        specialization = ffi.new(
            "VkSpecializationInfo*", {"mapEntryCount": len(entries), "pMapEntries": entries, "dataSize": len(data), "pData": values}
        )
        required = kernel.required_subgroup_size
        size = structure("VkPipelineShaderStageRequiredSubgroupSizeCreateInfo", requiredSubgroupSize=required or self._subgroup_size)
        name = ffi.new("char[]", kernel.entry_point.encode())
        stage = structure(
            "VkPipelineShaderStageCreateInfo",
            stage=STAGE_BITS[_stage(kernel)],
            pName=name,
            pSpecializationInfo=specialization,
        )[0]
        if kernel.draw is None:
            stage.pNext = size if required or self._requires_size else ffi.NULL
            stage.flags = 0 if kernel.full_subgroups is False else self._stage_flags
        yield stage

    def _compute(self, stage: CData, layout: CData, following: CData, cache: CData) -> Executable:
        vulkan, device = self._vulkan, self._device
        ffi, lib = vulkan.ffi, vulkan.lib
        info = structure("VkComputePipelineCreateInfo", pNext=following, flags=self._flags, layout=layout, stage=stage)
        created = ffi.new("VkPipeline*")
        result = lib.vkCreateComputePipelines(device, cache, 1, info, ffi.NULL, created)
        pipeline = made("vkCreateComputePipelines", result, created)
        bind_point = vulkan.VK_PIPELINE_BIND_POINT_COMPUTE
        return Executable(
            bind_point=bind_point,
            stage=stage.stage,
            wrote=vulkan.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
            begin=lambda command_buffer: lib.vkCmdBindPipeline(command_buffer, bind_point, pipeline),
            dispatch=lambda command_buffer, one: lib.vkCmdDispatch(command_buffer, *one.workgroups),
            end=lambda _: None,
            destroy=lambda: lib.vkDestroyPipeline(device, pipeline, ffi.NULL),
            pipeline=pipeline,
        )

    def _specialization(self, kernel: Kernel) -> tuple[CData, bytes]:
        constants = [(constant.constant_id, constant.component.bytes, constant.value) for constant in kernel.specialization]
        size_x = kernel.local_size_x(kernel.required_subgroup_size or self._subgroup_size)
        if kernel.draw is None and kernel.local_size_constant_id is not None:
            constants.append((kernel.local_size_constant_id, 4, size_x))
        entries = load().ffi.new("VkSpecializationMapEntry[]", len(constants))
        data = bytearray()
        for entry, (constant_id, size, value) in zip(entries, constants, strict=True):
            entry.constantID, entry.offset, entry.size = constant_id, len(data), size
            data += (value % (1 << 8 * size)).to_bytes(size, "little")
        return entries, bytes(data)

    def close(self) -> None:
        """Destroy the layouts."""
        self._draws.close()
        ffi, lib = self._vulkan.ffi, self._vulkan.lib
        for layouts in self._layouts.values():
            lib.vkDestroyPipelineLayout(self._device, layouts.pipeline, ffi.NULL)
            for set_layout in layouts.descriptor_sets:
                lib.vkDestroyDescriptorSetLayout(self._device, set_layout, ffi.NULL)
        self._layouts.clear()
