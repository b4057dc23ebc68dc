"""A kernel on a device: objects that run its dispatches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cts.devices.vulkan.api import CData
from generators.kernel import Dispatch

Record = Callable[[CData], None]
"""Puts commands into a VkCommandBuffer."""


@dataclass(frozen=True)
class Executable:
    """A kernel, ready to run.

    Attributes:
        bind_point: the VkPipelineBindPoint of its descriptor sets.
        stage: the VkShaderStageFlagBits of its stage.
        wrote: the VkPipelineStageFlagBits that the host waits for.
        begin, end: record what comes before all dispatches, and after them.
        dispatch: records one dispatch, whose descriptors and push constants are set.
        destroy: destroys it. No dispatch of it may be pending.
    """

    bind_point: int
    stage: int
    wrote: int
    begin: Record
    dispatch: Callable[[CData, Dispatch], None]
    end: Record
    destroy: Callable[[], None]
