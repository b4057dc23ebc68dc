"""What a query case asks of a device: one rule of one of Vulkan's property commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Command = Literal[
    "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR",
    "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV",
    "vkGetPhysicalDeviceCooperativeVectorPropertiesNV",
]

Rule = Literal[
    "count",
    "all",
    "generous",
    "one_short",
    "one",
    "none",
    "repeated",
    "values",
    "power_of_two",
    "scopes",
    "stages",
    "granularities",
    "largest_workgroup",
    "largest_dimension",
    "reserved_memory",
    "vector_values",
    "vector_required",
    "vector_stages",
    "vector_components",
    "decode_blocks",
]


@dataclass(frozen=True)
class PropertyQuery:
    """A rule that the answers of a property command keep. cts.kinds.property_rules has the rules in words and in code."""

    command: Command
    rule: Rule
