"""The Vulkan instance, with or without the validation layer."""

from __future__ import annotations

from typing import Any

from cts.devices.device import DeviceError, DeviceFailure, NoVulkan
from cts.devices.vulkan.api import ERROR_INCOMPATIBLE_DRIVER, CData, load, made, text
from cts.devices.vulkan.lists import enumerate_all
from cts.devices.vulkan.structures import structure

VALIDATION_LAYER = "VK_LAYER_KHRONOS_validation"
_DEBUG_UTILS = "VK_EXT_debug_utils"
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

    Raises:
        NoVulkan: there is no loader or no driver.
        DeviceError: a driver fails, or the requested validation layer is not installed.
    """

    def __init__(self, validation: bool = False) -> None:
        vulkan = load()
        self._vulkan = vulkan
        self.messages: list[str] = []
        self._messenger: CData = None
        self._callback: CData = None
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
            extensions.append(ffi.new("char[]", _DEBUG_UTILS.encode()))
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
        messenger = self._messenger_info() if validation else None
        if messenger is not None:
            info.pNext = messenger
        handle = ffi.new("VkInstance*")
        result = lib.vkCreateInstance(info, ffi.NULL, handle)
        if result == ERROR_INCOMPATIBLE_DRIVER:
            raise NoVulkan("no Vulkan driver: install one, or use --device embedded")
        try:
            self.handle: CData = made("vkCreateInstance", result, handle)
        except DeviceFailure as failure:
            raise DeviceError(f"the Vulkan driver fails: {failure}; repair its installation, or use --device embedded") from failure
        if messenger is not None:
            created = ffi.new("VkDebugUtilsMessengerEXT*")
            create = self.function("vkCreateDebugUtilsMessengerEXT")
            self._messenger = made("vkCreateDebugUtilsMessengerEXT", create(self.handle, messenger, ffi.NULL, created), created)

    def _messenger_info(self) -> CData:
        vulkan = self._vulkan
        ffi = vulkan.ffi

        # Without the type GENERAL: the loader sends such messages about other drivers and layers.
        kinds = vulkan.VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT
        severities = vulkan.VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | vulkan.VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT

        def heard(_severity: int, _kinds: int, data: CData, _user: CData) -> int:
            self.messages.append(text(data.pMessage) if data.pMessage else "(no text)")
            return 0

        self._callback = ffi.callback("PFN_vkDebugUtilsMessengerCallbackEXT", heard)
        return structure(
            "VkDebugUtilsMessengerCreateInfoEXT", messageSeverity=severities, messageType=kinds, pfnUserCallback=self._callback
        )

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
        if self._messenger is not None:
            self.function("vkDestroyDebugUtilsMessengerEXT")(self.handle, self._messenger, ffi.NULL)
        self._vulkan.lib.vkDestroyInstance(self.handle, ffi.NULL)
