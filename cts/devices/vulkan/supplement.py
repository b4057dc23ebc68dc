"""Parts of Vulkan that the ``vulkan`` package lacks, declared for cffi: structures newer than Vulkan 1.3.275.

cts.devices.vulkan.registry writes them to ``supplement.json`` and ``supplement_types.py`` from Khronos' registry.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

FILE = Path(__file__).with_name("supplement.json")


def _read() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return content


_CONTENT = _read()
_CONSTANTS: Mapping[str, int] = MappingProxyType(_CONTENT["constants"])

STRUCTURE_TYPES: Mapping[str, int] = MappingProxyType(_CONTENT["structure_types"])
"""Structure -> VkStructureType."""

BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT = _CONSTANTS["VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT"]
MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT = _CONSTANTS["VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT"]
PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT = _CONSTANTS["VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT"]
"""Bits whose original extension names have the value None in the package."""

PIPELINE_BIND_POINT_RAY_TRACING = _CONSTANTS["VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR"]
"""A bind point whose value in the package is wrong."""

PIPELINE_STAGE_2_CONVERT_COOPERATIVE_VECTOR_MATRIX_BIT = _CONSTANTS["VK_PIPELINE_STAGE_2_CONVERT_COOPERATIVE_VECTOR_MATRIX_BIT_NV"]
"""The stage of vkCmdConvertCooperativeVectorMatrixNV."""

PACKED_COMPONENT_TYPES: Mapping[int, str] = MappingProxyType(
    {_CONSTANTS["VK_COMPONENT_TYPE_SINT8_PACKED_NV"]: "s8packed", _CONSTANTS["VK_COMPONENT_TYPE_UINT8_PACKED_NV"]: "u8packed"}
)
"""The values of VkComponentTypeKHR that only the input interpretation of a cooperative vector may have."""


DECLARATIONS: str = "\n".join(_CONTENT["declarations"])
"""The declarations in C."""


@cache
def supplement() -> Any:
    """Return the cffi instance that has the declarations."""
    from cts.devices.vulkan.supplement_types import ffi

    return ffi
