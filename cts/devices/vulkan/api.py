"""The Vulkan API: the ``vulkan`` package's types, constants and library, and errors for results.

This suite calls the package's raw functions, not its Python wrappers: they take the same C data, and return VK_TIMEOUT and VK_INCOMPLETE
instead of raising.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from cts.devices.device import CallFailed, DeviceError, DeviceLost, DriverRefused, NoVulkan, OutOfMemory

CData = Any
"""A cffi value."""

SUCCESS = 0
NOT_READY = 1
TIMEOUT = 2
INCOMPLETE = 5
ERROR_DEVICE_LOST = -4
ERROR_INCOMPATIBLE_DRIVER = -9
"""A result of vkCreateInstance: the loader found no usable driver."""

_OUT_OF_MEMORY = frozenset({-1, -2})
"""VK_ERROR_OUT_OF_HOST_MEMORY and VK_ERROR_OUT_OF_DEVICE_MEMORY."""

_LATER_RESULTS = {-1000012000: "VK_ERROR_INVALID_SHADER_NV", -1000483000: "VK_ERROR_NOT_ENOUGH_SPACE_KHR"}


@cache
def load() -> Any:
    """Return the ``vulkan`` package, with ``ffi`` and ``lib``.

    Raises:
        NoVulkan: the Vulkan loader is not installed.
        DeviceError: the package cannot be imported.
    """
    try:
        import vulkan
    except ImportError as error:
        raise DeviceError(f"the Python package vulkan cannot be imported ({error}): pip install vulkan") from None
    except OSError:
        raise NoVulkan("no Vulkan loader (libvulkan.so.1): install the Vulkan loader, or use --device embedded") from None
    return vulkan


@cache
def _result_names() -> dict[int, str]:
    return _LATER_RESULTS | dict(load().ffi.typeof("VkResult").elements)


def result_name(result: int) -> str:
    """Return the name of a VkResult, or its number if the package does not know it."""
    return _result_names().get(result, f"VkResult {result}")


def check(call: str, result: int, *permitted: int, spent: bool | None = None) -> int:
    """Return ``result`` if it is VK_SUCCESS, or one that the specification permits this call.

    Args:
        call: name of the command that returned it.
        permitted: permitted results besides VK_SUCCESS.
        spent: whether any other result makes the device unusable; None if that depends on the result.

    Raises:
        DeviceLost, OutOfMemory, DriverRefused: the result is not permitted.
    """
    if result == SUCCESS or result in permitted:
        return result
    kind: type[CallFailed] = DriverRefused
    if result == ERROR_DEVICE_LOST:
        kind = DeviceLost
    elif result in _OUT_OF_MEMORY:
        kind = OutOfMemory
    permits = "" if result < 0 else ", which the specification does not allow"
    raise kind(f"{call} returned {result_name(result)}{permits}", spent=spent, call=call, result=result)


def made(call: str, result: int, handle: CData) -> CData:
    """Return the object that a call created, from the pointer through which the call wrote it.

    Raises:
        DeviceLost, OutOfMemory, DriverRefused: the call did not return VK_SUCCESS, or wrote a null handle.
    """
    check(call, result)
    if not handle[0]:
        raise DriverRefused(f"{call} returned VK_SUCCESS and a null handle", call=call, result=SUCCESS)
    return handle[0]


def created(lib: Any, type_: str, *arguments: CData) -> CData:
    """Return the object of ``type_`` that its vkCreate command makes from ``arguments``, without an allocator.

    Args:
        lib: the library that has the command.
        type_: name of the type of its handle, for example ``VkBuffer``.
        arguments: the arguments before the allocator.

    Raises:
        DeviceLost, OutOfMemory, DriverRefused: see made.
    """
    ffi, call = load().ffi, f"vkCreate{type_.removeprefix('Vk')}"
    handle = ffi.new(f"{type_}*")
    return made(call, getattr(lib, call)(*arguments, ffi.NULL, handle), handle)


def text(characters: CData) -> str:
    """Return the text in an array of characters from a driver. Escape bytes that are not UTF-8."""
    return str(load().ffi.string(characters).decode(errors="backslashreplace"))


def address(pointer: CData) -> int:
    """Return a pointer as an integer, to hand it from one cffi instance to another."""
    return int(load().ffi.cast("uintptr_t", pointer))
