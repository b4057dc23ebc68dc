"""Queries a physical device's description of itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from cts.devices.capabilities import STATED_FEATURES
from cts.devices.device import DeviceDescription, DriverRefused, MatrixRow, NoSuchDevice, VectorRow
from cts.devices.vulkan.api import CData, address, load, text
from cts.devices.vulkan.buffers import memory_types
from cts.devices.vulkan.instance import API_VERSION, Instance, split_version
from cts.devices.vulkan.lists import enumerate_all, told
from cts.devices.vulkan.property_commands import ask
from cts.devices.vulkan.queues import QueueFamily, compute_family
from cts.devices.vulkan.rows_by_subgroup_size import rows_by_subgroup_size
from cts.devices.vulkan.structures import FEATURES, OF_STATISTICS, PROPERTIES, Chain, declaring, structure, structure_type, supported
from cts.devices.vulkan.supplement import PACKED_COMPONENT_TYPES, supplement
from generators.types import COMPONENT_TYPES

_DEVICE_TYPES = {0: "other", 1: "integrated", 2: "discrete", 3: "virtual", 4: "cpu"}
_COMPONENTS = {component.vk: name for name, component in COMPONENT_TYPES.items()} | dict(PACKED_COMPONENT_TYPES)
_CORE_LIMITS = (
    "maxComputeWorkGroupInvocations",
    "maxComputeSharedMemorySize",
    "maxPushConstantsSize",
    "maxStorageBufferRange",
    "maxPerStageDescriptorStorageBuffers",
    "minStorageBufferOffsetAlignment",
    "sparseAddressSpaceSize",
)
_LIMITS = frozenset(
    {
        "subgroupSize",
        "minSubgroupSize",
        "maxSubgroupSize",
        "requiredSubgroupSizeStages",
        "maxComputeWorkgroupSubgroups",
        "subgroupSupportedStages",
        "subgroupSupportedOperations",
        "denormBehaviorIndependence",
        "roundingModeIndependence",
        "maxBufferSize",
        "maxMemoryAllocationSize",
        "maxCooperativeVectorComponents",
        "shaderGroupHandleSize",
        "shaderGroupBaseAlignment",
    }
)


@dataclass(frozen=True)
class PhysicalDevice:
    """A device and the information needed to open it.

    Attributes:
        handle: VkPhysicalDevice.
        index: its index in the loader's order.
        extensions: names of the supported extensions.
        version: the usable Vulkan version: the lower of the device's and the instance's.
        features: the feature structures, filled in.
        core_features: VkPhysicalDeviceFeatures.
        queue_family: family of the queue on which kernels run; None if no family can compute.
    """

    handle: CData
    index: int
    description: DeviceDescription
    extensions: frozenset[str]
    version: tuple[int, int]
    features: Chain
    core_features: CData
    queue_family: QueueFamily | None


def query(instance: Instance, handle: CData, index: int) -> PhysicalDevice:
    """Query everything about a physical device that kernels may need.

    Raises:
        DeviceFailure: a query fails, or returns an impossible answer.
    """
    vulkan = load()
    ffi, lib = vulkan.ffi, vulkan.lib
    listed = enumerate_all(
        "vkEnumerateDeviceExtensionProperties", lib.vkEnumerateDeviceExtensionProperties, "VkExtensionProperties", handle, ffi.NULL
    )
    extensions = frozenset(text(extension.extensionName) for extension in listed)
    basic = ffi.new("VkPhysicalDeviceProperties*")
    lib.vkGetPhysicalDeviceProperties(handle, basic)
    api_version = split_version(basic.apiVersion)
    version = min(API_VERSION, api_version[:2])

    features = Chain(supported((*FEATURES, OF_STATISTICS), version, extensions))
    properties = Chain(supported(PROPERTIES, version, extensions))
    core, core_limits = _filled(handle, version, features, properties)
    further = properties.read()
    stated = _stated(core, features, further)
    limits = _limits(core_limits, further, stated)
    family = compute_family(handle)
    limits["memoryHeapSize"] = _largest_heap(handle)
    limits["queueFlags"] = 0 if family is None else family.flags
    subgroup_size = limits.get("subgroupSize", 1)
    if subgroup_size.bit_count() != 1:
        raise DriverRefused(
            f"vkGetPhysicalDeviceProperties2 returned the subgroupSize {subgroup_size}, which is not a power of two",
            call="vkGetPhysicalDeviceProperties2",
        )
    uuid, driver = _identity(basic, properties)
    extra: dict[str, Any] = {
        "index": index,
        "type": _DEVICE_TYPES.get(basic.deviceType, "other"),
        "vendor_id": basic.vendorID,
        "device_id": basic.deviceID,
        "extensions": sorted({s.extension for s in features.nodes if s.extension}),
        "conformance_version": _conformance_version(properties),
    }
    description = DeviceDescription(
        name=text(basic.deviceName),
        driver=driver,
        uuid=uuid,
        kind="vulkan",
        api_version=".".join(map(str, api_version)),
        subgroup_size=subgroup_size,
        max_workgroup_invocations=limits["maxComputeWorkGroupInvocations"],
        max_shared_memory=limits["maxComputeSharedMemorySize"],
        features=dict.fromkeys(sorted(STATED_FEATURES), False) | stated,
        limits=limits,
        rows=_matrix_rows(instance, handle, stated),
        extra=extra,
        vector_rows=_vector_rows(instance, handle, extensions) if stated.get("cooperativeVector") else (),
    )
    description = replace(description, rows=description.rows + rows_by_subgroup_size(partial(ask, instance, handle), description))
    return PhysicalDevice(handle, index, description, extensions, version, features, core, family)


def _largest_heap(handle: CData) -> int:
    """Return the size in bytes of the largest heap that any memory type uses."""
    return max((type_.heap for type_ in memory_types(handle)), default=0)


def _filled(handle: CData, version: tuple[int, int], features: Chain, properties: Chain) -> tuple[CData, CData]:
    """Fill in both chains. Return VkPhysicalDeviceFeatures and VkPhysicalDeviceLimits."""
    vulkan = load()
    ffi, lib = vulkan.ffi, vulkan.lib
    all_features = structure("VkPhysicalDeviceFeatures2", pNext=features.head)
    all_properties = structure("VkPhysicalDeviceProperties2", pNext=properties.head)
    if version >= (1, 1):
        lib.vkGetPhysicalDeviceFeatures2(handle, all_features)
        lib.vkGetPhysicalDeviceProperties2(handle, all_properties)
    else:
        lib.vkGetPhysicalDeviceFeatures(handle, ffi.addressof(all_features, "features"))
        lib.vkGetPhysicalDeviceProperties(handle, ffi.addressof(all_properties, "properties"))
    # Copy them: the structures that contain them are freed here.
    core = ffi.new("VkPhysicalDeviceFeatures*", all_features.features)
    limits = ffi.new("VkPhysicalDeviceLimits*", all_properties.properties.limits)
    return core[0], limits[0]


def _stated(core: CData, features: Chain, further: dict[str, int]) -> dict[str, bool]:
    """Return name -> whether the device has the feature."""
    flags = {name: getattr(core, name) for name, _ in load().ffi.typeof("VkPhysicalDeviceFeatures").fields} | features.read()
    stated = {name: bool(value) for name, value in flags.items() if name in STATED_FEATURES or name.startswith("cooperative")}
    # Some VkBool32 properties state what shaders may do, like features.
    return stated | {name: bool(value) for name, value in further.items() if name in STATED_FEATURES or name.endswith("Accumulation")}


def _limits(core: CData, further: dict[str, int], stated: dict[str, bool]) -> dict[str, int]:
    """Return Vulkan's name -> limit."""
    limits = {name: int(getattr(core, name)) for name in _CORE_LIMITS}
    limits |= {f"maxComputeWorkGroupSize[{axis}]": int(core.maxComputeWorkGroupSize[axis]) for axis in range(3)}
    limits["maxComputeWorkGroupCount[0]"] = int(core.maxComputeWorkGroupCount[0])
    return limits | {
        name: value for name, value in further.items() if name in _LIMITS or (name.startswith("cooperative") and name not in stated)
    }


def _identity(basic: CData, properties: Chain) -> tuple[str, str]:
    """Return the UUID, and the driver's name and version, as far as the device's Vulkan version allows."""
    nodes = {queried.name: node for queried, node in properties.nodes.items()}
    identity, driver = (nodes.get(f"VkPhysicalDeviceVulkan{version}Properties") for version in (11, 12))
    uuid = bytes(identity.deviceUUID).hex() if identity is not None else bytes(basic.pipelineCacheUUID).hex()
    if driver is None:
        return uuid, ".".join(map(str, split_version(basic.driverVersion)))
    return uuid, f"{text(driver.driverName)} {text(driver.driverInfo)}".strip()


def _conformance_version(properties: Chain) -> str:
    """Return the version of Khronos' test suite that the driver claims to pass; empty if the device's Vulkan version has no such claim."""
    driver = next((node for queried, node in properties.nodes.items() if queried.name == "VkPhysicalDeviceVulkan12Properties"), None)
    if driver is None:
        return ""
    version = driver.conformanceVersion
    return f"{version.major}.{version.minor}.{version.subminor}.{version.patch}"


def _component(vk: int) -> str:
    return _COMPONENTS.get(vk, f"component type {vk}")


def _matrix_rows(instance: Instance, handle: CData, features: dict[str, bool]) -> tuple[MatrixRow, ...]:
    if not features.get("cooperativeMatrix"):
        return ()
    name = "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"
    rows = [
        MatrixRow(p.MSize, p.NSize, p.KSize, *_components(p), bool(p.saturatingAccumulation), int(p.scope))
        for p in _ask(instance, handle, name, "VkCooperativeMatrixPropertiesKHR")
    ]
    if features.get("cooperativeMatrixFlexibleDimensions"):
        name = "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV"
        type_ = "VkCooperativeMatrixFlexibleDimensionsPropertiesNV"
        rows += [
            MatrixRow(
                p.MGranularity,
                p.NGranularity,
                p.KGranularity,
                *_components(p),
                bool(p.saturatingAccumulation),
                int(p.scope),
                flexible=True,
                invocations=p.workgroupInvocations,
            )
            for p in _ask(instance, handle, name, type_)
        ]
    return tuple(rows)


def _components(row: CData) -> tuple[str, str, str, str]:
    return _component(row.AType), _component(row.BType), _component(row.CType), _component(row.ResultType)


def _vector_rows(instance: Instance, handle: CData, extensions: frozenset[str]) -> tuple[VectorRow, ...]:
    if "VK_NV_cooperative_vector" not in extensions:
        return ()
    found = _ask(instance, handle, "vkGetPhysicalDeviceCooperativeVectorPropertiesNV", "VkCooperativeVectorPropertiesNV")
    return tuple(
        VectorRow(
            _component(p.inputType),
            _component(p.inputInterpretation),
            _component(p.matrixInterpretation),
            _component(p.biasInterpretation),
            _component(p.resultType),
            bool(p.transpose),
        )
        for p in found
    )


def _ask(instance: Instance, handle: CData, function: str, type_: str) -> list[CData]:
    """Return the entries of a property query. Query again while the list grows.

    Raises:
        DeviceFailure: the query fails, which differs from a device without entries.
    """
    ffi, s_type = declaring(type_), structure_type(type_)
    query_rows = supplement().cast("QueryRows", address(instance.address(function)))
    device = supplement().cast("void*", address(handle))

    def ask(count: CData, entries: CData) -> int:
        pointers = (
            supplement().cast(kind, int(ffi.cast("uintptr_t", pointer))) for kind, pointer in (("uint32_t*", count), ("void*", entries))
        )
        return int(query_rows(device, *pointers))

    def prepare(entry: CData) -> None:
        entry.sType, entry.pNext = s_type, ffi.NULL

    return told(function, ask, ffi, type_, prepare)


def describe(instance: Instance, index: int) -> DeviceDescription:
    """Return the description of one Vulkan device. Query no other device.

    Raises:
        NoSuchDevice: no device has the index.
        DeviceFailure: a query fails.
    """
    handles = instance.physical_devices()
    if index >= len(handles):
        raise NoSuchDevice(f"no Vulkan device {index}: there are {len(handles)} now")
    return query(instance, handles[index], index).description
