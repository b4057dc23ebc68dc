"""Loops that carry matrices."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cts.reference.state import State
from generators.program.control_flow import Loop


def repeat(state: State, operation: Loop, indices: Iterable[int]) -> None:
    """Runs the body for each index. All carried matrices change at once."""
    for carried in operation.carried:
        state.matrices[carried.current.name] = state.matrices[carried.initial.name]
    for index in indices:
        state.scalars[operation.index.name] = np.full(state.program.instances, index, np.uint64)
        state.run(state, operation.body)
        state.matrices.update({carried.current.name: state.matrices[carried.next.name] for carried in operation.carried})


def loop(state: State, operation: Loop) -> None:
    """Runs the body as often as the trip count says."""
    repeat(state, operation, range(state.operand(operation.trip_count)))
