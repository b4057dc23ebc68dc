"""Commands before and after dispatches, on a Vulkan driver with cooperative matrices; skipped if there is none.

Copies of buffers replace conversions, and rows without padding replace the layout of the device.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from cts.devices.vulkan.api import load
from cts.devices.vulkan.commands import Record
from cts.devices.vulkan.device import VulkanDevice
from cts.devices.vulkan.matrix_conversion import Conversion
from generators.kernel import BufferSlot, OpaqueSlot
from generators.layout_conversion import MatrixForm
from generators.types import COMPONENT_TYPES, VectorMatrixLayout
from tests.devices.multiplications import size_of, work
from tests.devices.real_device import real_device


@pytest.fixture(scope="module")
def device() -> Iterator[VulkanDevice]:
    spec = real_device("cooperativeMatrix").spec
    device = VulkanDevice(spec.name, spec.index)
    yield device
    device.close()


class Copies:
    """Converts to rows without padding, and back."""

    def __init__(self, device: VulkanDevice) -> None:
        self._arena: Any = device._arena
        self.recorded = 0

    def size(self, rows: int, columns: int, form: MatrixForm) -> int:
        return rows * columns * form.component.bytes

    def recorder(self, conversions: Sequence[Conversion]) -> Record:
        def record(command_buffer: Any) -> None:
            vulkan = load()
            self.recorded += 1
            for one in conversions:
                line = one.columns * one.from_.component.bytes
                regions = [
                    {
                        "srcOffset": self._arena.start + one.source - self._arena.address + row * (one.from_.stride or line),
                        "dstOffset": self._arena.start + one.destination - self._arena.address + row * (one.to.stride or line),
                        "size": line,
                    }
                    for row in range(one.rows)
                ]
                copies = vulkan.ffi.new("VkBufferCopy[]", regions)
                vulkan.lib.vkCmdCopyBuffer(command_buffer, self._arena.buffer, self._arena.buffer, len(regions), copies)

        return record


def opaque(slot: BufferSlot, component: str, rows: int, columns: int) -> BufferSlot:
    return replace(slot, opaque=OpaqueSlot(COMPONENT_TYPES[component], rows, columns, VectorMatrixLayout.TRAINING_OPTIMAL, 1))


def test_matrices_are_converted_before_the_shader_reads_them_and_after_it_has_written_them(device, muladd, monkeypatch):
    size = size_of(device.description)
    kernel = muladd(**size)
    a, b, c, out = kernel.buffers
    changed = replace(kernel, buffers=(opaque(a, "f16", size["m"], size["k"]), b, c, opaque(out, "f32", size["m"], size["n"])))
    copies = Copies(device)
    monkeypatch.setattr(device, "_conversions", copies)
    dispatches, results = work(size, 5)
    outcomes = device.run(changed, dispatches)
    assert copies.recorded == 2
    for outcome, result in zip(outcomes, results, strict=True):
        assert outcome.outputs.keys() == {"out"}
        assert (outcome.outputs["out"] == result).all()
        assert outcome.stray == ()
    plain = [outcome.outputs["out"].tobytes() for outcome in device.run(kernel, dispatches)]
    assert plain == [result.tobytes() for result in results]
