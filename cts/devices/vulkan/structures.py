"""Structures from either cffi instance: created by name, chained, and read into dictionaries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from cts.devices.vulkan.api import CData, load
from cts.devices.vulkan.supplement import STRUCTURE_TYPES, supplement


@dataclass(frozen=True)
class QueriedStructure:
    """A structure for a query of features or properties.

    Attributes:
        name: C name of the structure.
        extension: the extension that must be supported; empty for a core structure.
        version: (major, minor) of Vulkan that must be supported.
    """

    name: str
    extension: str = ""
    version: tuple[int, int] = (1, 2)


FEATURES = (
    QueriedStructure("VkPhysicalDeviceVulkan11Features"),
    QueriedStructure("VkPhysicalDeviceVulkan12Features"),
    QueriedStructure("VkPhysicalDeviceVulkan13Features", version=(1, 3)),
    QueriedStructure("VkPhysicalDeviceCooperativeMatrixFeaturesKHR", "VK_KHR_cooperative_matrix"),
    QueriedStructure("VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR", "VK_KHR_workgroup_memory_explicit_layout"),
    QueriedStructure("VkPhysicalDeviceShaderAtomicFloatFeaturesEXT", "VK_EXT_shader_atomic_float"),
    QueriedStructure("VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT", "VK_EXT_shader_atomic_float2"),
    QueriedStructure("VkPhysicalDevicePipelineRobustnessFeaturesEXT", "VK_EXT_pipeline_robustness"),
    QueriedStructure("VkPhysicalDeviceRobustness2FeaturesEXT", "VK_EXT_robustness2"),
    QueriedStructure("VkPhysicalDeviceShaderObjectFeaturesEXT", "VK_EXT_shader_object", (1, 3)),
    QueriedStructure("VkPhysicalDeviceCooperativeMatrix2FeaturesNV", "VK_NV_cooperative_matrix2"),
    QueriedStructure("VkPhysicalDeviceCooperativeMatrixMaintenance1FeaturesEXT", "VK_EXT_cooperative_matrix_maintenance1"),
    QueriedStructure("VkPhysicalDeviceCooperativeMatrixDecodeVectorFeaturesNV", "VK_NV_cooperative_matrix_decode_vector"),
    QueriedStructure("VkPhysicalDeviceCooperativeMatrixConversionFeaturesQCOM", "VK_QCOM_cooperative_matrix_conversion"),
    QueriedStructure("VkPhysicalDeviceCooperativeVectorFeaturesNV", "VK_NV_cooperative_vector"),
    QueriedStructure("VkPhysicalDeviceShaderBfloat16FeaturesKHR", "VK_KHR_shader_bfloat16"),
    QueriedStructure("VkPhysicalDeviceShaderFloat8FeaturesEXT", "VK_EXT_shader_float8"),
    QueriedStructure("VkPhysicalDeviceShaderReplicatedCompositesFeaturesEXT", "VK_EXT_shader_replicated_composites"),
    QueriedStructure("VkPhysicalDeviceShaderLongVectorFeaturesEXT", "VK_EXT_shader_long_vector"),
    QueriedStructure("VkPhysicalDeviceShader64BitIndexingFeaturesEXT", "VK_EXT_shader_64bit_indexing"),
    QueriedStructure("VkPhysicalDeviceShaderUntypedPointersFeaturesKHR", "VK_KHR_shader_untyped_pointers"),
    QueriedStructure("VkPhysicalDeviceShaderFloatControls2FeaturesKHR", "VK_KHR_shader_float_controls2"),
    QueriedStructure("VkPhysicalDeviceShaderAtomicFloat16VectorFeaturesNV", "VK_NV_shader_atomic_float16_vector"),
    QueriedStructure("VkPhysicalDeviceRayTracingPipelineFeaturesKHR", "VK_KHR_ray_tracing_pipeline"),
)
"""All structures that have a feature which kernels need, of cts.devices.capabilities."""

OF_STATISTICS = QueriedStructure("VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR", "VK_KHR_pipeline_executable_properties")
"""The structure of the feature for statistics of compiled code."""

PROPERTIES = (
    QueriedStructure("VkPhysicalDeviceVulkan11Properties"),
    QueriedStructure("VkPhysicalDeviceVulkan12Properties"),
    QueriedStructure("VkPhysicalDeviceVulkan13Properties", version=(1, 3)),
    QueriedStructure("VkPhysicalDeviceCooperativeMatrixPropertiesKHR", "VK_KHR_cooperative_matrix"),
    QueriedStructure("VkPhysicalDeviceCooperativeMatrix2PropertiesNV", "VK_NV_cooperative_matrix2"),
    QueriedStructure("VkPhysicalDeviceCooperativeVectorPropertiesNV", "VK_NV_cooperative_vector"),
    QueriedStructure("VkPhysicalDeviceRayTracingPipelinePropertiesKHR", "VK_KHR_ray_tracing_pipeline"),
)


def supported(structures: Iterable[QueriedStructure], version: tuple[int, int], extensions: frozenset[str]) -> tuple[QueriedStructure, ...]:
    """Return the structures that a query of a device with this version and these extensions may contain."""
    return tuple(s for s in structures if version >= s.version and (not s.extension or s.extension in extensions))


def declaring(name: str) -> Any:
    """Return the cffi instance that declares a structure."""
    return supplement() if name in STRUCTURE_TYPES else load().ffi


@cache
def _types() -> dict[str, int]:
    """Return the package's VkStructureTypes by name, without underscores: where they are follows no rule."""
    names = load().ffi.typeof("VkStructureType").relements
    return {name.removeprefix("VK_STRUCTURE_TYPE").replace("_", ""): value for name, value in names.items()}


def structure_type(name: str) -> int:
    """Return the VkStructureType of a structure."""
    return STRUCTURE_TYPES[name] if name in STRUCTURE_TYPES else _types()[name.removeprefix("Vk").upper()]


def structure(name: str, **members: Any) -> CData:
    """Return a pointer to a new structure with its sType. What its members point to is not kept alive."""
    return declaring(name).new(f"{name}*", {"sType": structure_type(name), **members})


class Chain:
    """Structures linked by pNext, in order. Keeps them alive."""

    def __init__(self, structures: Iterable[QueriedStructure]) -> None:
        self.nodes: dict[QueriedStructure, CData] = {}
        following = 0
        for queried in reversed(tuple(structures)):
            ffi = declaring(queried.name)
            node = structure(queried.name, pNext=ffi.cast("void*", following))
            following = int(ffi.cast("uintptr_t", node))
            self.nodes[queried] = node
        self.head = load().ffi.cast("void*", following)

    def fields(self, queried: QueriedStructure) -> list[str]:
        """Return the names of a structure's own members."""
        return [name for name, _ in declaring(queried.name).typeof(queried.name).fields if name not in ("sType", "pNext")]

    def read(self) -> dict[str, int]:
        """Return every scalar member by name. If several structures have a member of the same name, combine their values by bitwise or."""
        values: dict[str, int] = {}
        for queried, node in self.nodes.items():
            for name in self.fields(queried):
                value = getattr(node, name)
                if isinstance(value, int):
                    values[name] = values.get(name, 0) | value
        return values

    def enable(self, wanted: frozenset[str], offered: Chain) -> None:
        """Set each wanted feature that is set in the same structure of ``offered``."""
        for queried, node in self.nodes.items():
            for name in self.fields(queried):
                if name in wanted and getattr(offered.nodes[queried], name):
                    setattr(node, name, 1)
