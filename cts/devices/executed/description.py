"""Describes an executed chip: a model of the chip on the CPU."""

from __future__ import annotations

from dataclasses import replace

from cts.devices.capabilities import QUEUE_GRAPHICS
from cts.devices.compile_only.chips import Chip
from cts.devices.device import MODELLED, DeviceDescription


def executed(description: DeviceDescription, chip: Chip) -> DeviceDescription:
    """Return the description of a chip's model: the name says that it is a model, the type is a CPU, and it neither draws nor
    traces rays."""
    by = f"executed by this suite's model of {chip.architecture}"
    told = f"{description.name}, {description.driver}, {by}: says what the compiled code computes, nothing about the chip"
    return replace(
        description,
        name=f"{description.name}, {by}",
        features={**description.features, "rayTracingPipeline": False},
        limits={**description.limits, "queueFlags": description.limits["queueFlags"] & ~QUEUE_GRAPHICS},
        extra={**description.extra, "type": "cpu", MODELLED: told},
    )
