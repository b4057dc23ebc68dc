"""A kernel that is ready to run on a Vulkan device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from cts.devices.vulkan.api import CData
from generators.kernel import Dispatch

Record = Callable[[CData], None]
"""Records commands into a VkCommandBuffer."""


@dataclass(frozen=True)
class Executable:
    """A kernel, ready to run.

    Attributes:
        bind_point: the VkPipelineBindPoint of its descriptor sets.
        stage: the VkShaderStageFlagBits of its stage.
        wrote: the VkPipelineStageFlagBits of the stage whose writes the host waits for.
        begin, end: record the commands before and after all dispatches.
        dispatch: records one dispatch, after its descriptors and push constants.
        destroy: destroys the kernel. No dispatch of it may be pending.
        pipeline: its VkPipeline, the first one if there are several; None for a shader object.
    """

    bind_point: int
    stage: int
    wrote: int
    begin: Record
    dispatch: Callable[[CData, Dispatch], None]
    end: Record
    destroy: Callable[[], None]
    pipeline: CData = None


def chosen_among(executables: Sequence[Executable]) -> Executable:
    """Return an executable that runs each dispatch on its pipeline. All have the same stage."""
    first = executables[0]
    if len(executables) == 1:
        return first

    def dispatch(command_buffer: CData, given: Dispatch) -> None:
        one = executables[given.pipeline]
        one.begin(command_buffer)
        one.dispatch(command_buffer, given)
        one.end(command_buffer)

    def destroy() -> None:
        for one in executables:
            one.destroy()

    return replace(first, begin=lambda _: None, dispatch=dispatch, end=lambda _: None, destroy=destroy)
