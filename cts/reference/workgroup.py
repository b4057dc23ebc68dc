"""Workgroup memory: copies and barriers."""

from __future__ import annotations

from cts.reference.state import State
from generators.errors import GeneratorError
from generators.program.workgroup import Barrier, Copy


def copy(state: State, operation: Copy) -> None:
    """Every element of the source, to the same place in the target.

    Raises:
        GeneratorError: not all invocations execute it, so that elements stay behind.
    """
    if len(state.instances) < state.program.instances:
        raise GeneratorError(f"only some scope instances copy to {operation.target.name}; copy outside of branches")
    state.memories[operation.target.name].copy_from(state.memories[operation.source.name])


def barrier(state: State, operation: Barrier) -> None:
    """Nothing: the model executes every operation in all invocations before the next. Missing barriers are for a device to find."""
