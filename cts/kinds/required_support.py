"""What Vulkan requires of every implementation, and each extension of one that advertises it: limits, features, versions, extensions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from cts.devices.device import DeviceDescription
from cts.kinds.property_rules import Commanded, PropertyRule
from generators.property_query import Rule

_COMPUTE, _BASIC = 0x20, 0x1
"""VK_SHADER_STAGE_COMPUTE_BIT and VK_SUBGROUP_FEATURE_BASIC_BIT."""

_COMPUTE_QUEUE = 0x2
"""VK_QUEUE_COMPUTE_BIT."""

_LARGEST_SUBGROUP = 128

_FEATURES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "VK_KHR_cooperative_matrix": ("cooperativeMatrix",),
        "VK_NV_cooperative_matrix2": (
            "cooperativeMatrixWorkgroupScope",
            "cooperativeMatrixFlexibleDimensions",
            "cooperativeMatrixReductions",
            "cooperativeMatrixConversions",
            "cooperativeMatrixPerElementOperations",
            "cooperativeMatrixTensorAddressing",
            "cooperativeMatrixBlockLoads",
        ),
        "VK_NV_cooperative_vector": ("cooperativeVector",),
        "VK_NV_cooperative_matrix_decode_vector": ("cooperativeMatrixDecodeVector",),
        "VK_QCOM_cooperative_matrix_conversion": ("cooperativeMatrixConversion",),
    }
)
"""The features of which a device with the extension must have at least one (vk.xml, ``require`` of each extension)."""

_DEPENDENCIES: Mapping[str, str] = MappingProxyType(
    {
        "VK_NV_cooperative_matrix2": "VK_KHR_cooperative_matrix",
        "VK_NV_cooperative_matrix_decode_vector": "VK_NV_cooperative_matrix2",
        "VK_QCOM_cooperative_matrix_conversion": "VK_KHR_cooperative_matrix",
        "VK_EXT_cooperative_matrix_maintenance1": "VK_KHR_cooperative_matrix",
    }
)
"""The extension that a device with the extension must also have (vk.xml, ``depends``). VK_KHR_cooperative_matrix and
VK_NV_cooperative_vector need none: Vulkan 1.1 or the instance extension VK_KHR_get_physical_device_properties2 is enough."""


def _is_power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def _least(words: str, **limits: int) -> PropertyRule:
    """Build a rule of minima.

    Args:
        words: the rule, in words.
        limits: Vulkan's name of a limit -> its least value. An element of an array has its index after two underscores.
    """

    def broken(asked: Commanded) -> Iterator[str]:
        for name, least in limits.items():
            vulkan, _, index = name.partition("__")
            vulkan += f"[{index}]" if index else ""
            value = _value(asked.description, vulkan)
            if value is not None and value < least:
                yield f"{vulkan} is {value}, but must be at least {least}"

    return _rule(words, broken)


def _value(description: DeviceDescription, name: str) -> int | None:
    """Return a limit; None if the device has a version of Vulkan without it."""
    own = _OWN.get(name)
    return description.limits.get(name) if own is None else own(description)


_OWN: Mapping[str, Callable[[DeviceDescription], int]] = MappingProxyType(
    {
        "maxComputeWorkGroupInvocations": lambda description: description.max_workgroup_invocations,
        "maxComputeSharedMemorySize": lambda description: description.max_shared_memory,
        "subgroupSize": lambda description: description.subgroup_size,
    }
)
"""Limits that are attributes of a description."""


def _offset_alignment(asked: Commanded) -> Iterator[str]:
    value = _value(asked.description, "minStorageBufferOffsetAlignment")
    if value is not None and not (_is_power_of_two(value) and value <= 256):
        yield f"minStorageBufferOffsetAlignment is {value}, but must be a power of two and at most 256"


def _subgroup_sizes(asked: Commanded) -> Iterator[str]:
    names = ("minSubgroupSize", "subgroupSize", "maxSubgroupSize")
    sizes = {name: value for name in names if (value := _value(asked.description, name)) is not None}
    wrong = [f"{name} is {size}" for name, size in sizes.items() if not (_is_power_of_two(size) and size <= _LARGEST_SUBGROUP)]
    yield from (f"{one}, but must be a power of two and at most {_LARGEST_SUBGROUP}" for one in wrong)
    if list(sizes.values()) != sorted(sizes.values()):
        yield f"the sizes are not in this order: {', '.join(f'{name} {size}' for name, size in sizes.items())}"


def _subgroup_operations(asked: Commanded) -> Iterator[str]:
    # Only a device with a queue for compute must support subgroups in compute shaders.
    if not asked.description.limits.get("queueFlags", _COMPUTE_QUEUE) & _COMPUTE_QUEUE:
        return
    for name, bit, what in (
        ("subgroupSupportedStages", _COMPUTE, "VK_SHADER_STAGE_COMPUTE_BIT"),
        ("subgroupSupportedOperations", _BASIC, "VK_SUBGROUP_FEATURE_BASIC_BIT"),
    ):
        value = _value(asked.description, name)
        if value is not None and not value & bit:
            yield f"{name} is {value:#x}, without {what}"


def _extensions(description: DeviceDescription) -> frozenset[str]:
    """Return the extensions that the device lists; none if it supports any."""
    return frozenset(description.extra.get("extensions", ()))


def _extension_features(asked: Commanded) -> Iterator[str]:
    listed, features = _extensions(asked.description), asked.description.features
    for extension, names in _FEATURES.items():
        if extension in listed and not any(features.get(name) for name in names):
            yield f"the device has {extension} but not {'its feature' if len(names) == 1 else 'one of its features'} {', '.join(names)}"


def _extension_dependencies(asked: Commanded) -> Iterator[str]:
    listed = _extensions(asked.description)
    for extension, needed in _DEPENDENCIES.items():
        if extension in listed and needed not in listed:
            yield f"the device has {extension} but not {needed}"


def _rule(words: str, broken: Callable[[Commanded], Iterator[str]]) -> PropertyRule:
    calls = "vkGetPhysicalDeviceProperties2, vkGetPhysicalDeviceFeatures2 and vkEnumerateDeviceExtensionProperties, and no other command"
    return PropertyRule(words, calls, broken, needs="nothing")


REQUIRED_SUPPORT: Mapping[Rule, PropertyRule] = MappingProxyType(
    {
        "workgroup_invocations": _least("a workgroup may have 128 invocations", maxComputeWorkGroupInvocations=128),
        "workgroup_size": _least(
            "a workgroup may be 128x128x64 in each dimension alone",
            maxComputeWorkGroupSize__0=128,
            maxComputeWorkGroupSize__1=128,
            maxComputeWorkGroupSize__2=64,
        ),
        "workgroup_count": _least("a dispatch may have 65,535 workgroups in a dimension", maxComputeWorkGroupCount__0=65535),
        "shared_memory": _least("a workgroup may have 16 KiB of memory", maxComputeSharedMemorySize=1 << 14),
        "push_constants": _least("push constants may have 128 bytes", maxPushConstantsSize=128),
        "storage_buffers": _least(
            "a shader may have 4 storage buffers, each of 128 MiB", maxPerStageDescriptorStorageBuffers=4, maxStorageBufferRange=1 << 27
        ),
        "memory_size": _least("a buffer and an allocation may have 1 GiB", maxBufferSize=1 << 30, maxMemoryAllocationSize=1 << 30),
        "offset_alignment": _rule(
            "minStorageBufferOffsetAlignment is a power of two and at most 256",
            _offset_alignment,
        ),
        "subgroup_sizes": _rule(
            "minSubgroupSize, subgroupSize and maxSubgroupSize are powers of two in this order, at most 128", _subgroup_sizes
        ),
        "subgroup_operations": _rule("compute shaders have at least the basic subgroup operations", _subgroup_operations),
        "extension_features": _rule("a device that has an extension has the feature that it requires", _extension_features),
        "extension_dependencies": _rule("a device that has an extension has the extension that it requires", _extension_dependencies),
    }
)
"""Every rule by its name in the cases. The minima are of Vulkan 1.0, or of the version that added the limit; later versions raise some."""
