"""The Vulkan API: the ``vulkan`` package's types, constants and library, and results turned into errors.

The package's Python wrappers are not used: their raw functions take the same C data, and a result that is no error (VK_TIMEOUT,
VK_INCOMPLETE) comes back as it is.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from cts.devices.device import DeviceError, DeviceLost, DriverRefused

CData = Any
"""A value of cffi."""

SUCCESS = 0
TIMEOUT = 2
INCOMPLETE = 5
ERROR_DEVICE_LOST = -4

_LATER_RESULTS = {-1000012000: "VK_ERROR_INVALID_SHADER_NV", -1000483000: "VK_ERROR_NOT_ENOUGH_SPACE_KHR"}


@cache
def load() -> Any:
    """The ``vulkan`` package, with ``ffi`` and ``lib``.

    Raises:
        DeviceError: the package or the Vulkan loader is not installed.
    """
    try:
        import vulkan
    except ImportError as error:
        raise DeviceError(f"the Python package vulkan cannot be imported ({error}): pip install vulkan") from None
    except OSError:
        raise DeviceError("no Vulkan loader (libvulkan.so.1): install the Vulkan loader, or use --device embedded") from None
    return vulkan


@cache
def _result_names() -> dict[int, str]:
    vulkan = load()
    names = {value: name for name, value in vars(vulkan).items() if name.startswith("VK_ERROR_") and isinstance(value, int)}
    return _LATER_RESULTS | names


def result_name(result: int) -> str:
    """``VK_ERROR_…``, or the number where the package does not know it."""
    return _result_names().get(result, f"VkResult {result}")


def check(call: str, result: int) -> int:
    """``result``, if it is no error.

    Raises:
        DeviceLost, DriverRefused: it is one; the message names ``call`` and the result.
    """
    if result == ERROR_DEVICE_LOST:
        raise DeviceLost(f"{call} returned VK_ERROR_DEVICE_LOST")
    if result < 0:
        raise DriverRefused(f"{call} returned {result_name(result)}")
    return result


def address(pointer: CData) -> int:
    """A pointer as an integer, to hand it from one cffi instance to another."""
    return int(load().ffi.cast("uintptr_t", pointer))


def enumerate_all(call: str, function: Any, type_: str, *arguments: CData) -> list[CData]:
    """The two-call idiom: everything that ``function(*arguments, &count, array)`` tells, asked again while it grows."""
    ffi = load().ffi
    count = ffi.new("uint32_t*")
    while True:
        check(call, function(*arguments, count, ffi.NULL) or SUCCESS)
        array = ffi.new(f"{type_}[]", max(1, count[0]))
        if check(call, function(*arguments, count, array) or SUCCESS) != INCOMPLETE:
            return list(array[0 : count[0]])
