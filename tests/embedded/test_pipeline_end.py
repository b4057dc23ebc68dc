"""A pipeline ends when the device runs another kernel."""

from __future__ import annotations

import gc
from weakref import ref

import numpy as np

from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from generators.kernel import BufferSlot, Dispatch, Kernel
from tests.embedded.assembly import shader, store


def test_its_memory_is_free_without_a_search_for_garbage() -> None:
    device = EmbeddedDevice(load_profile("universal"))
    kernel = Kernel(shader(store("%u32_7")), (BufferSlot("input", 64, False, 0), BufferSlot("output", 1024, True, 1)))
    dispatch = Dispatch(b"", (np.zeros(64, np.uint8), np.zeros(1024, np.uint8)), (1, 1, 1))
    device.run(kernel, [dispatch])
    translation = ref(device._pipelines[0]._translation)
    gc.disable()
    try:
        device.run(Kernel(kernel.spirv, kernel.buffers), [dispatch])
        assert translation() is None
    finally:
        gc.enable()
