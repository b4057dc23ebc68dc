"""Creates a VkDevice and enables every feature that kernels may need."""

from __future__ import annotations

from dataclasses import dataclass

from cts.devices.capabilities import ENABLED_FEATURES, STATISTICS_FEATURE
from cts.devices.device import DeviceError, DriverRefused
from cts.devices.vulkan.api import CData, created, load
from cts.devices.vulkan.query import PhysicalDevice
from cts.devices.vulkan.structures import Chain, structure

_DEPENDENCIES = {"VK_KHR_ray_tracing_pipeline": ("VK_KHR_acceleration_structure", "VK_KHR_deferred_host_operations")}
"""Extension -> further extensions that must be enabled with it (VUID-vkCreateDevice-ppEnabledExtensionNames-01387)."""


@dataclass(frozen=True)
class LogicalDevice:
    """A VkDevice, its one queue and the queue's family."""

    handle: CData
    queue: CData
    family: int


def create(physical: PhysicalDevice, statistics: bool = False) -> LogicalDevice:
    """Open a device.

    Args:
        physical: the device.
        statistics: whether to enable the feature for statistics of compiled code, if the device has it.

    Raises:
        DeviceError: it has no compute queue.
        DeviceFailure: the driver fails to create it.
    """
    vulkan = load()
    ffi, lib = vulkan.ffi, vulkan.lib
    if physical.queue_family is None:
        raise DeviceError(f"{physical.description.name} has no compute queue: choose another --device")
    family = physical.queue_family.index
    chain = Chain(physical.features.nodes)
    chain.enable(ENABLED_FEATURES | ({STATISTICS_FEATURE} if statistics else set()), physical.features)
    features = structure("VkPhysicalDeviceFeatures2", pNext=chain.head)
    for name, _ in ffi.typeof("VkPhysicalDeviceFeatures").fields:
        if name in ENABLED_FEATURES and getattr(physical.core_features, name):
            setattr(features.features, name, 1)
    names = [node.extension for node in chain.nodes if node.extension]
    names += [name for extension in names for name in _DEPENDENCIES.get(extension, ())]
    extensions = [ffi.new("char[]", name.encode()) for name in names]
    extension_names = ffi.new("char*[]", extensions)
    priority = ffi.new("float[]", [1.0])
    queue_info = structure("VkDeviceQueueCreateInfo", queueFamilyIndex=family, queueCount=1, pQueuePriorities=priority)
    info = structure(
        "VkDeviceCreateInfo",
        pNext=features,
        queueCreateInfoCount=1,
        pQueueCreateInfos=queue_info,
        enabledExtensionCount=len(extensions),
        ppEnabledExtensionNames=extension_names,
    )
    device = created(lib, "VkDevice", physical.handle, info)
    queue = ffi.new("VkQueue*")
    lib.vkGetDeviceQueue(device, family, 0, queue)
    if not queue[0]:
        raise DriverRefused("vkGetDeviceQueue returned a null handle", call="vkGetDeviceQueue")
    return LogicalDevice(device, queue[0], family)
