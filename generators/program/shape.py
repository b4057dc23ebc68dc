"""The shape of a workgroup: the number of invocations along each axis, and the arrangement of its subgroups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.errors import GeneratorError, Rule
from generators.stages import Draw, Stage, draw_of

LocalSize = Literal["x_constant", "constants", "literals", "built_in"]

Version = tuple[int, int]
"""A version of SPIR-V, (major, minor)."""

LATEST: Version = (1, 6)
"""The default version of modules. From this version on, subgroups are full without a request (VUID 10770)."""


@dataclass(frozen=True)
class WorkgroupShape:
    """How a program's subgroups are arranged and requested.

    Attributes:
        y, z: invocations along y and z. Along x there are enough subgroups side by side for the program's number of subgroups, so ``y`` *
            ``z`` divides that number.
        local_size: ``x_constant``: execution mode LocalSizeId, whose x is a specialization constant. ``constants``: y and z are
            specialization constants too. ``literals``: execution mode LocalSize, whose x is a number in the module, so the subgroup size
            must be known. ``built_in``: a constant decorated with WorkgroupSize, whose x is a specialization constant; its execution mode
            LocalSize is 1 x 1 x 1, but the constant takes precedence.
        subgroup_size: the size that the pipeline requires (VkPipelineShaderStageRequiredSubgroupSizeCreateInfo), None for the
            device's own.
        full_subgroups: whether the pipeline has VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT; None: if the device can.
        version: SPIR-V version of the module, 1.3 to 1.6. Before 1.6 the pipeline must require full subgroups.
        invocations: number along x, whatever the subgroup size, so the last subgroup of a workgroup may not be full; None for the number
            that the subgroups have. Only programs with cooperative vectors may set it, not programs with matrices.
        stage: the stage that runs the program. Outside compute, one draw of ``invocations`` invocations replaces a workgroup, without a
            local size and without workgroup memory.

    Raises:
        GeneratorError: an impossible version, a version before 1.6 without full subgroups, or a draw without a number of invocations.
    """

    y: int = 1
    z: int = 1
    local_size: LocalSize = "x_constant"
    subgroup_size: int | None = None
    full_subgroups: bool | None = None
    version: Version = LATEST
    invocations: int | None = None
    stage: Stage = "compute"

    @property
    def draw(self) -> Draw | None:
        """Return the draw that runs the program; None in the compute stage."""
        return None if self.invocations is None else draw_of(self.stage, self.invocations)

    def __post_init__(self) -> None:
        if not (1, 3) <= self.version <= LATEST:
            raise GeneratorError(
                Rule.SPIRV_VERSION, f"SPIR-V {self.version[0]}.{self.version[1]}: modules with matrices have versions 1.3 to 1.6"
            )
        if self.version < LATEST and not self.full_subgroups:
            raise GeneratorError(
                "VUID-RuntimeSpirv-OpTypeCooperativeMatrixKHR-10770",
                "before SPIR-V 1.6 a module needs full_subgroups (VUID-RuntimeSpirv-OpTypeCooperativeMatrixKHR-10770)",
            )
        if self.invocations is not None and (self.full_subgroups or self.local_size not in ("x_constant", "literals")):
            raise GeneratorError(
                Rule.WORKGROUP_SHAPE,
                "a number of invocations that is independent of subgroups needs a one-dimensional local size, without full_subgroups",
            )
        if self.stage != "compute" and (self.invocations is None or self.subgroup_size or self.y * self.z > 1):
            raise GeneratorError(
                Rule.WORKGROUP_SHAPE,
                f"a draw of the {self.stage} stage needs a number of invocations, and has no local size or subgroup size",
            )


PLAIN = WorkgroupShape()
"""The default shape: all invocations along x, and no requests."""
