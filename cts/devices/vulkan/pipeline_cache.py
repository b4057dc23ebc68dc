"""Pipeline caches and their data, which applications store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cts.devices.device import DriverRefused
from cts.devices.vulkan.api import INCOMPLETE, CData, check, created, load
from cts.devices.vulkan.structures import structure

_MOST_BYTES = 1 << 28
"""The largest plausible size of a cache with one pipeline, in bytes."""


@contextmanager
def pipeline_cache(device: CData, data: bytes = b"") -> Iterator[CData]:
    """Yield a VkPipelineCache with ``data``. It is destroyed at the end of the block; pipelines made with it may live on.

    Raises:
        DeviceFailure: the driver fails to create it.
    """
    vulkan = load()
    ffi, lib = vulkan.ffi, vulkan.lib
    initial = ffi.from_buffer(data)
    info = structure("VkPipelineCacheCreateInfo", initialDataSize=len(data), pInitialData=initial if data else ffi.NULL)
    handle = created(lib, "VkPipelineCache", device, info)
    try:
        yield handle
    finally:
        lib.vkDestroyPipelineCache(device, handle, ffi.NULL)


def cache_data(device: CData, cache: CData) -> bytes:
    """Return the contents of a cache.

    Raises:
        DeviceFailure: the driver does not return them.
    """
    vulkan = load()
    ffi, lib = vulkan.ffi, vulkan.lib
    size = ffi.new("size_t*")
    call = "vkGetPipelineCacheData"
    check(call, lib.vkGetPipelineCacheData(device, cache, size, ffi.NULL))
    room = int(size[0])
    if room > _MOST_BYTES:
        raise DriverRefused(f"{call} claims to have {room:,} bytes; the suite accepts at most {_MOST_BYTES:,}", call=call)
    data = ffi.new("char[]", max(1, room))
    check(call, lib.vkGetPipelineCacheData(device, cache, size, data), INCOMPLETE)
    if size[0] > room:
        raise DriverRefused(f"{call} claims to have written {size[0]:,} bytes to an array of {room:,}", call=call)
    # The driver omits data that does not fit: a shorter cache is valid too.
    return bytes(ffi.buffer(data, size[0]))
