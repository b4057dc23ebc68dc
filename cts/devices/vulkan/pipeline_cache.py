"""Pipeline caches, and their data as an application stores them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cts.devices.vulkan.api import CData, check, load


@contextmanager
def pipeline_cache(device: CData, data: bytes = b"") -> Iterator[CData]:
    """A VkPipelineCache that begins with ``data``; destroyed at the end of the block, as pipelines made with it allow.

    Raises:
        DriverRefused, DeviceLost: the driver does not make it.
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
    check("vkCreatePipelineCache", lib.vkCreatePipelineCache(device, info, ffi.NULL, cache))
    try:
        yield cache[0]
    finally:
        lib.vkDestroyPipelineCache(device, cache[0], ffi.NULL)


def cache_data(device: CData, cache: CData) -> bytes:
    """The contents of a cache.

    Raises:
        DriverRefused, DeviceLost: the driver does not give them.
    """
    vulkan = load()
    ffi, lib = vulkan.ffi, vulkan.lib
    size = ffi.new("size_t*")
    check("vkGetPipelineCacheData", lib.vkGetPipelineCacheData(device, cache, size, ffi.NULL))
    data = ffi.new("char[]", max(1, size[0]))
    check("vkGetPipelineCacheData", lib.vkGetPipelineCacheData(device, cache, size, data))
    return bytes(ffi.buffer(data, size[0]))
