"""Chains of structures from either cffi instance: created by name, and read into dictionaries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cts.devices.vulkan.api import CData, load
from cts.devices.vulkan.supplement import STRUCTURE_TYPES, supplement


@dataclass(frozen=True)
class QueriedStructure:
    """A structure for a query of features or properties.

    Attributes:
        name: C name of the structure.
        extension: the extension that must be supported; empty for a core structure.
        version: (major, minor) of Vulkan that must be supported.
        constant: name of the VkStructureType in the ``vulkan`` package; empty if only the supplement has it.
    """

    name: str
    extension: str = ""
    version: tuple[int, int] = (1, 2)
    constant: str = ""


FEATURES = (
    QueriedStructure("VkPhysicalDeviceVulkan11Features", "", (1, 2), "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES"),
    QueriedStructure("VkPhysicalDeviceVulkan12Features", "", (1, 2), "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES"),
    QueriedStructure("VkPhysicalDeviceVulkan13Features", "", (1, 3), "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES"),
    QueriedStructure(
        "VkPhysicalDeviceCooperativeMatrixFeaturesKHR",
        "VK_KHR_cooperative_matrix",
        constant="VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR",
    ),
    QueriedStructure(
        "VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR",
        "VK_KHR_workgroup_memory_explicit_layout",
        constant="VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_FEATURES_KHR",
    ),
    QueriedStructure(
        "VkPhysicalDeviceShaderAtomicFloatFeaturesEXT",
        "VK_EXT_shader_atomic_float",
        constant="VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT",
    ),
    QueriedStructure(
        "VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT",
        "VK_EXT_shader_atomic_float2",
        constant="VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_2_FEATURES_EXT",
    ),
    QueriedStructure(
        "VkPhysicalDevicePipelineRobustnessFeaturesEXT",
        "VK_EXT_pipeline_robustness",
        constant="VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_ROBUSTNESS_FEATURES_EXT",
    ),
    QueriedStructure(
        "VkPhysicalDeviceRobustness2FeaturesEXT",
        "VK_EXT_robustness2",
        constant="VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT",
    ),
    QueriedStructure(
        "VkPhysicalDeviceShaderObjectFeaturesEXT",
        "VK_EXT_shader_object",
        (1, 3),
        "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT",
    ),
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
)
"""All structures that have a feature of cts.devices.capabilities."""

PROPERTIES = (
    QueriedStructure("VkPhysicalDeviceVulkan11Properties", "", (1, 2), "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES"),
    QueriedStructure("VkPhysicalDeviceVulkan12Properties", "", (1, 2), "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES"),
    QueriedStructure("VkPhysicalDeviceVulkan13Properties", "", (1, 3), "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES"),
    QueriedStructure(
        "VkPhysicalDeviceCooperativeMatrixPropertiesKHR",
        "VK_KHR_cooperative_matrix",
        constant="VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR",
    ),
    QueriedStructure("VkPhysicalDeviceCooperativeMatrix2PropertiesNV", "VK_NV_cooperative_matrix2"),
    QueriedStructure("VkPhysicalDeviceCooperativeVectorPropertiesNV", "VK_NV_cooperative_vector"),
)


def supported(structures: Iterable[QueriedStructure], version: tuple[int, int], extensions: frozenset[str]) -> tuple[QueriedStructure, ...]:
    """Return the structures that a query of a device with this version and these extensions may contain."""
    return tuple(s for s in structures if version >= s.version and (not s.extension or s.extension in extensions))


class Chain:
    """Structures linked by pNext, in order. Keeps them alive."""

    def __init__(self, structures: Iterable[QueriedStructure]) -> None:
        vulkan = load()
        self.nodes: dict[QueriedStructure, CData] = {}
        following = 0
        for structure in reversed(tuple(structures)):
            ffi = vulkan.ffi if structure.constant else supplement()
            node = ffi.new(f"{structure.name}*")
            node.sType = getattr(vulkan, structure.constant) if structure.constant else STRUCTURE_TYPES[structure.name]
            node.pNext = ffi.cast("void*", following)
            following = int(ffi.cast("uintptr_t", node))
            self.nodes[structure] = node
        self.head = vulkan.ffi.cast("void*", following)

    def fields(self, structure: QueriedStructure) -> list[str]:
        """Return the names of a structure's own members."""
        ffi = load().ffi if structure.constant else supplement()
        return [name for name, _ in ffi.typeof(structure.name).fields if name not in ("sType", "pNext")]

    def read(self) -> dict[str, int]:
        """Return every scalar member by name. If several structures have a member of the same name, combine their values by bitwise or."""
        values: dict[str, int] = {}
        for structure, node in self.nodes.items():
            for name in self.fields(structure):
                value = getattr(node, name)
                if isinstance(value, int):
                    values[name] = values.get(name, 0) | value
        return values

    def enable(self, wanted: frozenset[str], offered: Chain) -> None:
        """Set each wanted feature that is set in the same structure of ``offered``."""
        for structure, node in self.nodes.items():
            for name in self.fields(structure):
                if name in wanted and getattr(offered.nodes[structure], name):
                    setattr(node, name, 1)
