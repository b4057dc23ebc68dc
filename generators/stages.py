"""The stages that run a kernel, and the draws that run one outside of compute."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import Literal

DrawnStage = Literal["fragment", "vertex"]
Stage = Literal["compute", DrawnStage]

ShaderObject = Literal["spirv", "binary", "in_turn"]
"""A shader object of the module; one of the binary code of such a shader object; or a shader object of the module and a pipeline, which run
dispatches in turn."""


@dataclass(frozen=True)
class Draw:
    """A draw whose invocations run a kernel.

    Attributes:
        stage: the stage that runs the kernel.
        width, height: in the fragment stage fragments along x and y, and the invocation of fragment (x, y) has the number y * width + x;
            in the vertex stage ``width`` vertices, whose invocations have the number VertexIndex, and a ``height`` of 1.
    """

    stage: DrawnStage
    width: int
    height: int = 1

    @property
    def invocations(self) -> int:
        """Return the number of invocations. An implementation may run further ones, which have the numbers of others (F-CV-20)."""
        return self.width * self.height


def draw_of(stage: Stage, invocations: int) -> Draw | None:
    """Return the draw of so many invocations, or None in the compute stage. Fragments are nearly a square, and never wider than high."""
    if stage == "compute":
        return None
    if stage == "vertex":
        return Draw(stage, invocations)
    width = next(width for width in range(isqrt(invocations), 0, -1) if invocations % width == 0)
    return Draw(stage, width, invocations // width)
