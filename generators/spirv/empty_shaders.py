"""Shaders that do nothing, for pipelines that run before the one under test."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.spirv.assemble import assemble
from generators.stages import Preceding

_BODY = """
%void = OpTypeVoid
%function = OpTypeFunction %void
%main = OpFunction %void None %function
%entry = OpLabel
OpReturn
OpFunctionEnd
"""

_HEADS: Mapping[Preceding, str] = MappingProxyType(
    {
        "compute": """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
""",
        "raygen": """
OpCapability RayTracingKHR
OpExtension "SPV_KHR_ray_tracing"
OpMemoryModel Logical GLSL450
OpEntryPoint RayGenerationKHR %main "main"
""",
    }
)


def empty_shader(stage: Preceding) -> bytes:
    """Return a module with an entry point ``main`` that does nothing."""
    return assemble(_HEADS[stage] + _BODY)
