"""The query of a case: one rule of one of Vulkan's property commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.types import Scope

Command = Literal[
    "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR",
    "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV",
    "vkGetPhysicalDeviceCooperativeVectorPropertiesNV",
    "vkGetPhysicalDeviceCooperativeMatrixProperties2EXT",
]

ListRule = Literal["count", "all", "generous", "one_short", "one", "none", "repeated"]
"""The rules of every command that lists structures."""

DeviceRule = Literal[
    "workgroup_invocations",
    "workgroup_size",
    "workgroup_count",
    "shared_memory",
    "push_constants",
    "storage_buffers",
    "memory_size",
    "offset_alignment",
    "subgroup_sizes",
    "subgroup_operations",
    "extension_features",
    "extension_dependencies",
]
"""The rules about what a device says of itself."""

Rule = Literal[
    ListRule,
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
    "matrix_required",
    "properties2_supported",
    DeviceRule,
]


@dataclass(frozen=True)
class MatrixInfo:
    """The values in VkPhysicalDeviceCooperativeMatrixInfo2EXT.

    Attributes:
        varying: whether the subgroup size may vary (0), or is the device's own.
        saturating: whether multiply-adds saturate.
        scope: the scope of the matrices. For workgroup scope, the query covers each number of invocations for which a device must list its
            properties.
    """

    varying: bool = False
    saturating: bool = False
    scope: Scope = Scope.SUBGROUP

    @property
    def text(self) -> str:
        """Return the values in words."""
        invocations = ", invocations each power of two that a workgroup may have" if self.scope is Scope.WORKGROUP else ""
        return f"subgroupSize {0 if self.varying else 'of the device'}, flags {int(self.saturating)}{invocations}"


@dataclass(frozen=True)
class PropertyQuery:
    """A rule that the answers of a property command must keep. cts.kinds.property_rules has the rules in words and in code. ``info`` is the
    command's additional input, if it takes one."""

    command: Command
    rule: Rule
    info: MatrixInfo | None = None
