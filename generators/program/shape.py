"""The shape of a workgroup: how many invocations it has along each axis, and how its subgroups are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LocalSize = Literal["x_constant", "constants", "literals"]


@dataclass(frozen=True)
class WorkgroupShape:
    """How a program's subgroups are arranged and asked for.

    Attributes:
        y, z: invocations along y and z. Along x there are so many subgroups side by side that the workgroup has as many as the
            program says; so ``y`` * ``z`` divides that number.
        local_size: ``x_constant``: execution mode LocalSizeId, whose x is a specialization constant. ``constants``: so are y and z.
            ``literals``: execution mode LocalSize, whose x is a number in the module, so that the subgroup size must be known.
        subgroup_size: the size that the pipeline requires (VkPipelineShaderStageRequiredSubgroupSizeCreateInfo), None for the
            device's own.
        full_subgroups: whether the pipeline has VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT; None: if the device can.
    """

    y: int = 1
    z: int = 1
    local_size: LocalSize = "x_constant"
    subgroup_size: int | None = None
    full_subgroups: bool | None = None


PLAIN = WorkgroupShape()
"""Everything along x, and nothing asked for."""
