"""Runs a program on the embedded device, and checks that the reference model permits the results."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import NO_FAULTS, Faults
from cts.embedded.profile import load_profile
from cts.reference.evaluate import evaluate
from cts.verdict.compare import compare
from cts.verdict.poison import initial_contents
from generators.dispatch import dispatch, kernel
from generators.program.program import Program, Subcase
from generators.spirv.emit import emit


def agreed(program: Program, subcase: Subcase, faults: Faults = NO_FAULTS) -> Mapping[str, np.ndarray]:
    """Return the outputs of the embedded device, which the reference model permits."""
    expected = evaluate(program, subcase)
    before = initial_contents(program, subcase, expected)
    device = EmbeddedDevice(load_profile("universal"), faults=faults)
    (outcome,) = device.run(kernel(program, emit(program)), [dispatch(program, subcase, before)])
    assert compare(program, expected, before, outcome) == ()
    return outcome.outputs


def inputs_of(data: Mapping[str, np.ndarray]) -> Subcase:
    """Return a subcase with the inputs, of any shape and type."""
    return Subcase("one", {name: np.ascontiguousarray(one).view(np.uint8).reshape(-1) for name, one in data.items()})
