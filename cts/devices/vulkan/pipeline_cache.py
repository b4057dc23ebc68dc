"""Pipeline caches, and their data as an application stores them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cts.devices.device import DriverRefused
from cts.devices.vulkan.api import INCOMPLETE, CData, check, load, made

_MOST_BYTES = 1 << 28
"""Of the data of a cache with one pipeline."""


@contextmanager
def pipeline_cache(device: CData, data: bytes = b"") -> Iterator[CData]:
    """Yield a VkPipelineCache that begins with ``data``; destroyed at the end of the block, as pipelines made with it allow.

    Raises:
        DeviceFailure: the driver does not make it.
    """
    vulkan = load()
    ffi, lib = vulkan.ffi, vulkan.lib
    initial = ffi.from_buffer(data)
    info = ffi.new(
        "VkPipelineCacheCreateInfo*",
        {
            "sType": vulkan.VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
            "initialDataSize": len(data),
            "pInitialData": initial if data else ffi.NULL,
        },
    )
    cache = ffi.new("VkPipelineCache*")
    handle = made("vkCreatePipelineCache", lib.vkCreatePipelineCache(device, info, ffi.NULL, cache), cache)
    try:
        yield handle
    finally:
        lib.vkDestroyPipelineCache(device, handle, ffi.NULL)


def cache_data(device: CData, cache: CData) -> bytes:
    """Return the contents of a cache.

    Raises:
        DeviceFailure: the driver does not give them.
    """
    vulkan = load()
    ffi, lib = vulkan.ffi, vulkan.lib
    size = ffi.new("size_t*")
    call = "vkGetPipelineCacheData"
    check(call, lib.vkGetPipelineCacheData(device, cache, size, ffi.NULL))
    room = int(size[0])
    if room > _MOST_BYTES:
        raise DriverRefused(f"{call} says that there are {room:,} bytes: more than {_MOST_BYTES:,} are not believed", call=call)
    data = ffi.new("char[]", max(1, room))
    check(call, lib.vkGetPipelineCacheData(device, cache, size, data), INCOMPLETE)
    if size[0] > room:
        raise DriverRefused(f"{call} says that it wrote {size[0]:,} bytes where there was room for {room:,}", call=call)
    # What did not fit is left out: a cache may be cut anywhere.
    return bytes(ffi.buffer(data, size[0]))
