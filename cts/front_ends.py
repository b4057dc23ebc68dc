"""Which readings of a program a device may get."""

from __future__ import annotations

from typing import Literal

FrontEnd = Literal["spirv", "glsl"]
"""The front ends: the module that the suite assembles, or the one that glslang makes from the suite's GLSL."""

FRONT_ENDS: tuple[FrontEnd, ...] = ("spirv", "glsl")
