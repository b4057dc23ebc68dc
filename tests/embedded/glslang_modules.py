"""The modules that glslang 16.6 compiled from the shaders in glslang/, as kernels, and their runs on the embedded device."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from generators.kernel import BufferSlot, Dispatch, Kernel
from generators.spirv.assemble import assemble

NO_CONSTANT = 999
"""A SpecId that no module has, because their local size is fixed."""


@cache
def module(name: str) -> bytes:
    return assemble((Path(__file__).parent / "glslang" / f"{name}.spvasm").read_text())


def run(
    kernel: Kernel, contents: list[np.ndarray], push: bytes = b"", mapping: str = "interleaved", subgroup_size: int = 32, choices: int = 0
) -> dict[str, np.ndarray]:
    device = EmbeddedDevice(replace(load_profile("universal"), subgroup_size=subgroup_size), mapping, choices=choices)
    dispatch = Dispatch(push, tuple(np.ascontiguousarray(c).view(np.uint8).ravel() for c in contents))
    return device.run(kernel, [dispatch])[0].outputs


def kernel(name: str, contents: list[np.ndarray], written: set[int], **options: object) -> Kernel:
    slots = tuple(BufferSlot(f"buffer{i}", c.nbytes, i in written, i) for i, c in enumerate(contents))
    return Kernel(module(name), slots, **{"local_size_constant_id": NO_CONSTANT, **options})  # type: ignore[arg-type]
