"""The stages that run a kernel, and the draws and traces of rays that run one outside compute."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import Literal

DrawnStage = Literal["fragment", "vertex", "raygen"]
"""A stage outside compute. A command that traces rays runs ray generation shaders; it counts as a draw here."""

Stage = Literal["compute", DrawnStage]

ShaderObject = Literal["spirv", "binary", "in_turn"]
"""A shader object from the module; a shader object from the binary code of such an object; or a shader object and a pipeline from the
module, which run dispatches in turn."""


@dataclass(frozen=True)
class Draw:
    """A draw whose invocations run a kernel.

    Attributes:
        stage: the stage that runs the kernel.
        width, height: in the fragment stage, fragments along x and y; the invocation of fragment (x, y) has the index y * width + x. In the
            vertex stage, ``width`` vertices with the index VertexIndex, and a ``height`` of 1. In the raygen stage, ``width`` invocations
            with the index LaunchId.x, and a ``height`` of 1.
    """

    stage: DrawnStage
    width: int
    height: int = 1

    @property
    def invocations(self) -> int:
        """Return the number of invocations. An implementation may run further ones, which repeat the indices of others (F-CV-20)."""
        return self.width * self.height


def draw_of(stage: Stage, invocations: int) -> Draw | None:
    """Return the draw of ``invocations`` invocations, or None in the compute stage. Fragments nearly form a square, never wider than
    high."""
    if stage == "compute":
        return None
    if stage != "fragment":
        return Draw(stage, invocations)
    width = next(width for width in range(isqrt(invocations), 0, -1) if invocations % width == 0)
    return Draw(stage, width, invocations // width)
