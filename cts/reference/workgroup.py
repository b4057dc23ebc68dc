"""Workgroup memory: copies and barriers."""

from __future__ import annotations

from cts.reference.state import State
from generators.program.workgroup import Barrier, Copy


def copy(state: State, operation: Copy) -> None:
    """Every element of the source, to the same place in the target."""
    state.memories[operation.target.name].copy_from(state.memories[operation.source.name])


def barrier(state: State, operation: Barrier) -> None:
    """Nothing: the model executes every operation in all invocations before the next. Missing barriers are for a device to find."""
