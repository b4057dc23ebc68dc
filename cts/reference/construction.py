"""Matrices made of a scalar (KHR-COMP-02)."""

from __future__ import annotations

import numpy as np

from cts.reference.state import State
from cts.reference.values import MatrixValue
from generators.program.construction import MatrixSplat


def splat(state: State, operation: MatrixSplat) -> None:
    """The one constituent initialises every component."""
    component = operation.result.type.component
    value = state.scalar(operation.value).astype(component.bits_dtype)
    bits = np.broadcast_to(value[:, None, None], (len(state.instances), *operation.result.type.shape))
    state.matrices[operation.result.name] = MatrixValue(component, bits)
