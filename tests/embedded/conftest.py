"""Runs a module on a small embedded device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from cts.devices.device import UndefinedBehaviour
from cts.embedded.device import EmbeddedDevice
from cts.embedded.diagnostics import NotSupported, NotValidSpirv
from cts.embedded.faults import NO_FAULTS, Faults
from cts.embedded.observations import Observations
from cts.embedded.profile import load_profile
from cts.embedded.types.limits import LIMITS, Limits
from generators.kernel import BufferSlot, Dispatch, Kernel, Outcome

SUBGROUP_SIZE = 4


def run(
    spirv: bytes,
    given: np.ndarray | None = None,
    output: int | np.ndarray = 64,
    subgroups: int = 1,
    workgroups: int = 1,
    mapping: str = "interleaved",
    strict: bool = True,
    specialization: tuple = (),
    limits: Limits = LIMITS,
    faults: Faults = NO_FAULTS,
    choices: int = 0,
    observations: Observations | None = None,
) -> Outcome:
    """Run ``spirv`` with subgroups of four invocations; ``output`` is the output buffer, or the number of its zero bytes."""
    profile = replace(load_profile("universal"), subgroup_size=SUBGROUP_SIZE)
    device = EmbeddedDevice(profile, mapping, strict, limits, faults, choices=choices, observations=observations)
    given = np.zeros(16, np.uint8) if given is None else given
    out = np.zeros(output, np.uint8) if isinstance(output, int) else output
    slots = (BufferSlot("input", given.size, False, 0), BufferSlot("output", out.size, True, 1))
    kernel = Kernel(spirv, slots, specialization, subgroups=subgroups)
    return device.run(kernel, [Dispatch(b"", (given, out), (workgroups, 1, 1))])[0]


def repeatedly(spirv: bytes, given: int, output: int) -> Callable[[np.ndarray], Outcome]:
    """Return a function that runs ``spirv`` with an input of ``given`` bytes. The device prepares the module once."""
    device = EmbeddedDevice(replace(load_profile("universal"), subgroup_size=SUBGROUP_SIZE))
    kernel = Kernel(spirv, (BufferSlot("input", given, False, 0), BufferSlot("output", output, True, 1)))
    return lambda data: device.run(kernel, [Dispatch(b"", (data, np.zeros(output, np.uint8)))])[0]


@pytest.fixture
def result() -> Callable[..., np.ndarray]:
    """Return the output buffer after a run, as u32 or another dtype."""

    def outcome(spirv: bytes, *arguments: object, dtype: type = np.uint32, **options: object) -> np.ndarray:
        return run(spirv, *arguments, **options).outputs["output"].view(dtype)  # type: ignore[arg-type]

    return outcome


@pytest.fixture
def forbidden() -> Callable[..., UndefinedBehaviour | NotSupported | NotValidSpirv]:
    """Return the device's exception when it stops a module; fail if it does not."""

    def stopped(spirv: bytes, *arguments: object, **options: object) -> UndefinedBehaviour | NotSupported | NotValidSpirv:
        with pytest.raises((UndefinedBehaviour, NotSupported, NotValidSpirv)) as caught:
            run(spirv, *arguments, **options)  # type: ignore[arg-type]
        return caught.value

    return stopped
