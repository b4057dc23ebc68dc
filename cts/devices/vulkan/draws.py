"""Graphics pipelines that run a kernel in one stage. They draw without attachments and without a window."""

from __future__ import annotations

from cts.devices.vulkan.api import CData, created, load, made
from cts.devices.vulkan.executable import Executable
from cts.devices.vulkan.structures import structure
from generators.kernel import Dispatch
from generators.spirv.assemble import assemble
from generators.spirv.covering_triangle import CORNERS, COVERING_TRIANGLE
from generators.stages import Draw


class Draws:
    """Makes graphics pipelines, and keeps the objects that they share.

    Args:
        device: VkDevice.
    """

    def __init__(self, device: CData) -> None:
        self._vulkan = load()
        self._device = device
        self._render_pass: CData = None
        self._triangle: CData = None
        self._framebuffers: dict[tuple[int, int], CData] = {}

    def make(self, draw: Draw, stage: CData, layout: CData, following: CData, cache: CData, flags: int) -> Executable:
        """Return a pipeline.

        Args:
            draw: the draw that runs the kernel.
            stage: VkPipelineShaderStageCreateInfo of the kernel.
            layout: VkPipelineLayout.
            following: pNext of the pipeline's create info.
            cache: VkPipelineCache, or null.
            flags: VkPipelineCreateFlags.

        Raises:
            DeviceFailure: the driver fails to create it.
        """
        vulkan, device = self._vulkan, self._device
        ffi, lib = vulkan.ffi, vulkan.lib
        pipeline = self._pipeline(draw, stage, layout, following, cache, flags)
        size = _extent(draw)
        begin_info = structure(
            "VkRenderPassBeginInfo", renderPass=self._pass(), framebuffer=self._framebuffer(size), renderArea={"extent": size}
        )
        vertices = CORNERS if draw.stage == "fragment" else draw.width

        def begin(command_buffer: CData) -> None:
            lib.vkCmdBindPipeline(command_buffer, vulkan.VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline)
            lib.vkCmdBeginRenderPass(command_buffer, begin_info, vulkan.VK_SUBPASS_CONTENTS_INLINE)

        def dispatch(command_buffer: CData, _: Dispatch) -> None:
            lib.vkCmdDraw(command_buffer, vertices, 1, 0, 0)

        in_fragments = draw.stage == "fragment"
        return Executable(
            bind_point=vulkan.VK_PIPELINE_BIND_POINT_GRAPHICS,
            stage=stage.stage,
            wrote=vulkan.VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT if in_fragments else vulkan.VK_PIPELINE_STAGE_VERTEX_SHADER_BIT,
            begin=begin,
            dispatch=dispatch,
            end=lib.vkCmdEndRenderPass,
            destroy=lambda: lib.vkDestroyPipeline(device, pipeline, ffi.NULL),
            pipeline=pipeline,
        )

    def _pipeline(self, draw: Draw, stage: CData, layout: CData, following: CData, cache: CData, flags: int) -> CData:
        vulkan = self._vulkan
        ffi, lib = vulkan.ffi, vulkan.lib
        in_fragments = draw.stage == "fragment"
        stages = ffi.new("VkPipelineShaderStageCreateInfo[]", 2 if in_fragments else 1)
        stages[0] = stage
        name = ffi.new("char[]", b"main")
        if in_fragments:
            vertex, module = vulkan.VK_SHADER_STAGE_VERTEX_BIT, self._triangle_module()
            stages[1] = structure("VkPipelineShaderStageCreateInfo", stage=vertex, module=module, pName=name)[0]
        inputs = structure("VkPipelineVertexInputStateCreateInfo")
        topology = vulkan.VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST if in_fragments else vulkan.VK_PRIMITIVE_TOPOLOGY_POINT_LIST
        assembly = structure("VkPipelineInputAssemblyStateCreateInfo", topology=topology)
        size = _extent(draw)
        viewport = ffi.new("VkViewport*", {"width": size["width"], "height": size["height"], "maxDepth": 1.0})
        scissor = ffi.new("VkRect2D*", {"extent": size})
        viewports = structure("VkPipelineViewportStateCreateInfo", viewportCount=1, pViewports=viewport, scissorCount=1, pScissors=scissor)
        rasterization = structure(
            "VkPipelineRasterizationStateCreateInfo",
            rasterizerDiscardEnable=not in_fragments,
            polygonMode=vulkan.VK_POLYGON_MODE_FILL,
            cullMode=vulkan.VK_CULL_MODE_NONE,
            lineWidth=1.0,
        )
        samples = structure("VkPipelineMultisampleStateCreateInfo", rasterizationSamples=vulkan.VK_SAMPLE_COUNT_1_BIT)
        info = structure(
            "VkGraphicsPipelineCreateInfo",
            pNext=following,
            flags=flags,
            stageCount=len(stages),
            pStages=stages,
            pVertexInputState=inputs,
            pInputAssemblyState=assembly,
            pRasterizationState=rasterization,
            layout=layout,
            renderPass=self._pass(),
        )
        if in_fragments:
            info.pViewportState, info.pMultisampleState = viewports, samples
        pipeline = ffi.new("VkPipeline*")
        result = lib.vkCreateGraphicsPipelines(self._device, cache, 1, info, ffi.NULL, pipeline)
        return made("vkCreateGraphicsPipelines", result, pipeline)

    def _triangle_module(self) -> CData:
        if self._triangle is None:
            vulkan = self._vulkan
            ffi, lib = vulkan.ffi, vulkan.lib
            words = assemble(COVERING_TRIANGLE)
            code = ffi.from_buffer("uint32_t[]", words)
            info = structure("VkShaderModuleCreateInfo", codeSize=len(words), pCode=code)
            self._triangle = created(lib, "VkShaderModule", self._device, info)
        return self._triangle

    def _pass(self) -> CData:
        """Return the render pass, which has one subpass and no attachments."""
        if self._render_pass is None:
            vulkan = self._vulkan
            ffi, lib = vulkan.ffi, vulkan.lib
            subpass = ffi.new("VkSubpassDescription*", {"pipelineBindPoint": vulkan.VK_PIPELINE_BIND_POINT_GRAPHICS})
            info = structure("VkRenderPassCreateInfo", subpassCount=1, pSubpasses=subpass)
            self._render_pass = created(lib, "VkRenderPass", self._device, info)
        return self._render_pass

    def _framebuffer(self, size: dict[str, int]) -> CData:
        key = size["width"], size["height"]
        if key not in self._framebuffers:
            info = structure("VkFramebufferCreateInfo", renderPass=self._pass(), **size, layers=1)
            self._framebuffers[key] = created(self._vulkan.lib, "VkFramebuffer", self._device, info)
        return self._framebuffers[key]

    def close(self) -> None:
        """Destroy the shared objects. No pipeline may exist any more."""
        ffi, lib = self._vulkan.ffi, self._vulkan.lib
        for framebuffer in self._framebuffers.values():
            lib.vkDestroyFramebuffer(self._device, framebuffer, ffi.NULL)
        self._framebuffers.clear()
        if self._render_pass is not None:
            lib.vkDestroyRenderPass(self._device, self._render_pass, ffi.NULL)
        if self._triangle is not None:
            lib.vkDestroyShaderModule(self._device, self._triangle, ffi.NULL)
        self._render_pass = self._triangle = None


def _extent(draw: Draw) -> dict[str, int]:
    """Return the size of the viewport: the smallest possible size if nothing is rasterized."""
    return {"width": draw.width, "height": draw.height} if draw.stage == "fragment" else {"width": 1, "height": 1}
