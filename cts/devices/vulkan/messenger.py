"""Listens to what the driver and the validation layer say: warnings and errors of VK_EXT_debug_utils, and of the older VK_EXT_debug_report.

Mesa's common code sends each message through both. Some messages of its drivers come through the older extension alone, among them RADV's
about SPIR-V that it cannot read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from cts.devices.vulkan.api import CData, load, made, text
from cts.devices.vulkan.structures import structure

DEBUG_UTILS = "VK_EXT_debug_utils"
DEBUG_REPORT = "VK_EXT_debug_report"

_OF_THE_LOADER = "Loader Message"
"""The pMessageIdName of the loader's messages, which are about other drivers and layers; in VK_EXT_debug_report, their pLayerPrefix."""

_OF_VALIDATION = "Validation"
"""The pLayerPrefix of the validation layer's messages, which also come through VK_EXT_debug_utils."""

Hear = Callable[[str], None]
"""Takes a message. Any thread may call it."""


class Listener(NamedTuple):
    """A messenger that is not created yet.

    Attributes:
        extension: the extension that has it.
        type: name of the type of its handle.
        info: its create info.
        callback: the function that gets the messages. It must live as long as the messenger.
    """

    extension: str
    type: str
    info: CData
    callback: CData

    def create(self, function: Callable[[str], Any], instance: CData) -> Callable[[], None]:
        """Create the messenger, and return the function that destroys it.

        Args:
            function: returns a function of the extension.
            instance: VkInstance, with the extension.

        Raises:
            DeviceFailure: it cannot be created.
        """
        ffi, name = load().ffi, self.type.removeprefix("Vk")
        handle = ffi.new(f"{self.type}*")
        create, destroy = f"vkCreate{name}", function(f"vkDestroy{name}")
        messenger = made(create, function(create)(instance, self.info, ffi.NULL, handle), handle)
        return lambda: destroy(instance, messenger, ffi.NULL)


def debug_utils(of_validation: Hear | None, of_driver: Hear) -> Listener:
    """Return the listener of VK_EXT_debug_utils.

    Args:
        of_validation: takes the messages of the validation layer; None if there is none.
        of_driver: takes the messages of the driver: of the types GENERAL and PERFORMANCE, not of the loader.
    """
    vulkan = load()
    validation = vulkan.VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT
    kinds = vulkan.VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT | vulkan.VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT

    def heard(_severity: int, kind: int, data: CData, _user: CData) -> int:
        said = text(data.pMessage) if data.pMessage else "(no text)"
        if kind & validation:
            if of_validation is not None:
                of_validation(said)
        elif not _is(data.pMessageIdName, _OF_THE_LOADER):
            of_driver(said)
        return 0

    callback = vulkan.ffi.callback("PFN_vkDebugUtilsMessengerCallbackEXT", heard)
    info = structure(
        "VkDebugUtilsMessengerCreateInfoEXT",
        messageSeverity=vulkan.VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | vulkan.VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        messageType=kinds if of_validation is None else kinds | validation,
        pfnUserCallback=callback,
    )
    return Listener(DEBUG_UTILS, "VkDebugUtilsMessengerEXT", info, callback)


def debug_report(of_driver: Hear) -> Listener:
    """Return the listener of VK_EXT_debug_report, which leaves out the messages of the loader and of the validation layer."""
    vulkan = load()

    def heard(_flags: int, _type: int, _object: int, _location: int, _code: int, prefix: CData, message: CData, _user: CData) -> int:
        if message and not _is(prefix, _OF_VALIDATION) and not _is(prefix, _OF_THE_LOADER):
            of_driver(text(message))
        return 0

    callback = vulkan.ffi.callback("PFN_vkDebugReportCallbackEXT", heard)
    info = structure(
        "VkDebugReportCallbackCreateInfoEXT",
        flags=vulkan.VK_DEBUG_REPORT_ERROR_BIT_EXT
        | vulkan.VK_DEBUG_REPORT_WARNING_BIT_EXT
        | vulkan.VK_DEBUG_REPORT_PERFORMANCE_WARNING_BIT_EXT,
        pfnCallback=callback,
    )
    return Listener(DEBUG_REPORT, "VkDebugReportCallbackEXT", info, callback)


def _is(characters: CData, wanted: str) -> bool:
    return bool(characters) and text(characters) == wanted
