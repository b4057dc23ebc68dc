"""The front ends: which reading of a program a device gets."""

from __future__ import annotations

from typing import Literal

FrontEnd = Literal["spirv", "glsl"]
"""The front ends: the module that the suite assembles, or the module that glslang compiles from the suite's GLSL."""

FRONT_ENDS: tuple[FrontEnd, ...] = ("spirv", "glsl")
