"""The shape of a workgroup: how many invocations it has along each axis, and how its subgroups are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.errors import GeneratorError, Rule
from generators.stages import Draw, Stage, draw_of

LocalSize = Literal["x_constant", "constants", "literals", "built_in"]

Version = tuple[int, int]
"""A version of SPIR-V, (major, minor)."""

LATEST: Version = (1, 6)
"""The version of modules that ask for no other. From this one on, subgroups are full without being asked for (VUID 10770)."""


@dataclass(frozen=True)
class WorkgroupShape:
    """How a program's subgroups are arranged and asked for.

    Attributes:
        y, z: invocations along y and z. Along x there are so many subgroups side by side that the workgroup has as many as the
            program says; so ``y`` * ``z`` divides that number.
        local_size: ``x_constant``: execution mode LocalSizeId, whose x is a specialization constant. ``constants``: so are y and z.
            ``literals``: execution mode LocalSize, whose x is a number in the module, so the subgroup size must be known.
            ``built_in``: a constant decorated with WorkgroupSize, whose x is a specialization constant; its execution mode LocalSize
            says 1 x 1 x 1, over which the constant takes precedence.
        subgroup_size: the size that the pipeline requires (VkPipelineShaderStageRequiredSubgroupSizeCreateInfo), None for the
            device's own.
        full_subgroups: whether the pipeline has VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT; None: if the device can.
        version: of SPIR-V that the module has, 1.3 to 1.6. Before 1.6 the pipeline must require full subgroups.
        invocations: so many along x, whatever the subgroup size is, and so the last subgroup of a workgroup may not be full; None for as
            many as the subgroups have. Programs with cooperative vectors may say so, programs with matrices may not.
        stage: the stage that runs the program. Outside of compute there is one draw of so many ``invocations`` in place of a workgroup,
            without a local size and without workgroup memory.

    Raises:
        GeneratorError: a version that no module can have, one before 1.6 without full subgroups, or a draw without a number of
            invocations.
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
                Rule.WORKGROUP_SHAPE, "invocations whose number no subgroup decides need a local size of one number, without full_subgroups"
            )
        if self.stage != "compute" and (self.invocations is None or self.subgroup_size or self.y * self.z > 1):
            raise GeneratorError(
                Rule.WORKGROUP_SHAPE,
                f"a draw of the {self.stage} stage needs a number of invocations, and has no local size or subgroup size",
            )


PLAIN = WorkgroupShape()
"""Everything along x, and nothing asked for."""
