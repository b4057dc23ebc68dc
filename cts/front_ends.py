"""Which readings of a program a device may get."""

from __future__ import annotations

from typing import Literal

FrontEnd = Literal["spirv", "glsl"]
"""The module that the suite assembles, or what glslang makes of the suite's GLSL."""

FRONT_ENDS: tuple[FrontEnd, ...] = ("spirv", "glsl")
