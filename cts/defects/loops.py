"""Defects of loops: one iteration too few or too many, the accumulator not carried, the index stuck."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cts.defects.defect import Defect, every
from cts.defects.known import defects_of
from cts.reference.control_flow import loop, repeat, trip_counts
from cts.reference.state import State
from generators.program.control_flow import Loop
from generators.program.program import Program


def _repeat(state: State, operation: Loop, trips: np.ndarray) -> None:
    repeat(state, operation, range(int(trips.max(initial=0))), trips)


def _short(state: State, operation: Loop) -> None:
    _repeat(state, operation, trip_counts(state, operation) - 1)


def _long(state: State, operation: Loop) -> None:
    _repeat(state, operation, trip_counts(state, operation) + 1)


def _once(state: State, operation: Loop) -> None:
    repeat(state, operation, range(1))


def _at_least_once(state: State, operation: Loop) -> None:
    _repeat(state, operation, np.maximum(1, trip_counts(state, operation)))


def _dropping(state: State, operation: Loop) -> None:
    loop(state, operation)
    state.matrices.update({carried.current.name: state.matrices[carried.initial.name] for carried in operation.carried})


def _stuck(state: State, operation: Loop) -> None:
    trips = trip_counts(state, operation)
    repeat(state, operation, [0] * int(trips.max(initial=0)), trips)


def _from_one(state: State, operation: Loop) -> None:
    trips = trip_counts(state, operation)
    repeat(state, operation, range(1, int(trips.max(initial=0)) + 1), trips)


def _not_carried(state: State, operation: Loop) -> None:
    trips = trip_counts(state, operation)
    last = int(trips.max(initial=0)) - 1
    # Only the last iteration counts, and it starts from the value before the loop.
    repeat(state, operation, [last] if last >= 0 else [], np.minimum(trips, 1))


@defects_of("loop", Loop)
def loop_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the loops of ``program``."""
    for operation in every(program.operations, Loop):
        yield Defect("loop.one_too_few", {operation: _short})
        yield Defect("loop.one_too_many", {operation: _long})
        yield Defect("loop.runs_once", {operation: _once})
        yield Defect("loop.at_least_once", {operation: _at_least_once})
        if operation.carried:
            yield Defect("loop.result_lost", {operation: _dropping})
        yield Defect("loop.not_carried", {operation: _not_carried})
        yield Defect("loop.index_stuck", {operation: _stuck})
        yield Defect("loop.index_from_one", {operation: _from_one})
