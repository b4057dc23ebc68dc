"""RADV in this process, with a model of the GPU that executes each submission before the call that submits it returns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from cts.devices.compile_only.chips import chip_named
from cts.devices.device import Finding
from cts.devices.executed.description import executed
from cts.devices.executed.gpu import Gpu
from cts.devices.executed.memory import Memory
from cts.devices.executed.submissions import Submissions
from cts.devices.layout_conversion import ConversionAnswer, ConversionCall
from cts.devices.vulkan.device import VulkanDevice
from generators.kernel import Dispatch, Kernel, Outcome

ORDERS = "CTS_EXECUTED_ORDERS"
"""The variable with the number of the first dispatch of a case, from which the orders of waves derive. Each number gives other orders."""


class ExecutedDevice(VulkanDevice):
    """A Vulkan device whose submissions are executed by the model of a chip.

    Args:
        model: the chip's name.
        further: see VulkanDevice.
    """

    def __init__(self, *arguments: Any, model: str, **further: Any) -> None:
        memory = Memory()
        self._gpu, self._before = Gpu(memory, model), 0
        self._submissions = Submissions(memory, self._gpu.execute)
        super().__init__(*arguments, **further)
        self._submissions.raise_failure()
        self._description = executed(self._description, chip_named(model))

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        """Run the dispatches; see cts.devices.device.Device.

        Raises:
            NotModelled: what RADV submitted needs something that the model lacks.
        """
        self._gpu.dispatches = int(os.environ.get(ORDERS, "0")) + self._before
        try:
            return super().run(kernel, dispatches)
        finally:
            self._submissions.raise_failure()

    def convert(self, call: ConversionCall) -> list[ConversionAnswer]:
        """Convert matrices; see VulkanDevice.

        Raises:
            NotModelled: what RADV submitted needs something that the model lacks.
        """
        try:
            return super().convert(call)
        finally:
            self._submissions.raise_failure()

    def close(self) -> tuple[Finding, ...]:
        """Close the device; its last submissions are still executed."""
        found = super().close()
        self._submissions.close()
        return found
