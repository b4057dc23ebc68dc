"""The Vulkan instance, with or without the validation layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cts.devices.device import DeviceError, DeviceFailure, NoVulkan
from cts.devices.vulkan.api import ERROR_INCOMPATIBLE_DRIVER, CData, load, made, text
from cts.devices.vulkan.lists import enumerate_all
from cts.devices.vulkan.messenger import DEBUG_UTILS, debug_report, debug_utils
from cts.devices.vulkan.structures import structure

VALIDATION_LAYER = "VK_LAYER_KHRONOS_validation"
API_VERSION = (1, 3)
"""The Vulkan version that the instance requests. Newer features are used as extensions."""


def make_version(major: int, minor: int, patch: int = 0) -> int:
    """Return VK_MAKE_API_VERSION of variant 0."""
    return major << 22 | minor << 12 | patch


def split_version(version: int) -> tuple[int, int, int]:
    """Return major, minor and patch of a packed version."""
    return version >> 22 & 0x7F, version >> 12 & 0x3FF, version & 0xFFF


class Instance:
    """A VkInstance.

    Args:
        validation: whether to load the validation layer and collect its texts in ``messages``.

    Attributes:
        messages: what the validation layer said.
        on_message: called with each message of the driver, in any thread.

    Raises:
        NoVulkan: there is no loader or no driver.
        DeviceError: a driver fails, or the requested validation layer is not installed.
    """

    def __init__(self, validation: bool = False) -> None:
        vulkan = load()
        self._vulkan = vulkan
        self.messages: list[str] = []
        self.on_message: Callable[[str], None] = lambda _: None
        self._stop_listening: list[Callable[[], None]] = []
        ffi, lib = vulkan.ffi, vulkan.lib
        layers: list[CData] = []
        extensions: list[CData] = []
        if validation:
            layer_properties = enumerate_all(
                "vkEnumerateInstanceLayerProperties", lib.vkEnumerateInstanceLayerProperties, "VkLayerProperties"
            )
            names = {text(properties.layerName) for properties in layer_properties}
            if VALIDATION_LAYER not in names:
                raise DeviceError(f"--validation needs {VALIDATION_LAYER}: install the Vulkan validation layers, or omit the option")
            layers.append(ffi.new("char[]", VALIDATION_LAYER.encode()))
        offered = _extensions() | ({DEBUG_UTILS} if validation else set())
        listeners = (debug_utils(self.messages.append if validation else None, self._hear), debug_report(self._hear))
        self._listeners = [listener for listener in listeners if listener.extension in offered]
        extensions += [ffi.new("char[]", listener.extension.encode()) for listener in self._listeners]
        application_name = ffi.new("char[]", b"vulkan-cooperative-cts")
        application = structure("VkApplicationInfo", pApplicationName=application_name, apiVersion=make_version(*API_VERSION))
        layer_names, extension_names = ffi.new("char*[]", layers), ffi.new("char*[]", extensions)
        info = structure(
            "VkInstanceCreateInfo",
            pApplicationInfo=application,
            enabledLayerCount=len(layers),
            ppEnabledLayerNames=layer_names,
            enabledExtensionCount=len(extensions),
            ppEnabledExtensionNames=extension_names,
        )
        if validation:
            info.pNext = self._listeners[0].info
        handle = ffi.new("VkInstance*")
        result = lib.vkCreateInstance(info, ffi.NULL, handle)
        if result == ERROR_INCOMPATIBLE_DRIVER:
            raise NoVulkan("no Vulkan driver: install one, or use --device embedded")
        try:
            self.handle: CData = made("vkCreateInstance", result, handle)
        except DeviceFailure as failure:
            raise DeviceError(f"the Vulkan driver fails: {failure}; repair its installation, or use --device embedded") from failure
        self._stop_listening += [listener.create(self.function, self.handle) for listener in self._listeners]

    def _hear(self, message: str) -> None:
        self.on_message(message)

    def function(self, name: str) -> Any:
        """Return an extension's function from vkGetInstanceProcAddr, with the package's type.

        Raises:
            DeviceError: the driver lacks the function although it has the extension.
        """
        return self._vulkan.ffi.cast(f"PFN_{name}", self.address(name))

    def address(self, name: str) -> CData:
        """Return the untyped address of an extension's function; see ``function``."""
        found = self._vulkan.lib.vkGetInstanceProcAddr(self.handle, name.encode())
        if found == self._vulkan.ffi.NULL:
            raise DeviceError(f"the Vulkan driver has no {name}, although it has the extension: its installation is broken")
        return found

    def physical_devices(self) -> list[CData]:
        """Return every VkPhysicalDevice, in the loader's order."""
        return enumerate_all("vkEnumeratePhysicalDevices", self._vulkan.lib.vkEnumeratePhysicalDevices, "VkPhysicalDevice", self.handle)

    def close(self) -> None:
        """Destroy the instance."""
        ffi = self._vulkan.ffi
        for stop in self._stop_listening:
            stop()
        self._vulkan.lib.vkDestroyInstance(self.handle, ffi.NULL)


def _extensions() -> set[str]:
    """Return the names of the extensions that an instance may have without a layer; none if that fails, as vkCreateInstance then will."""
    name = "vkEnumerateInstanceExtensionProperties"
    try:
        found = enumerate_all(name, getattr(load().lib, name), "VkExtensionProperties", load().ffi.NULL)
    except DeviceFailure:
        return set()
    return {text(properties.extensionName) for properties in found}
