"""Defects of loops: one iteration too few or too many, the accumulator not carried, the index stuck."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from cts.defects.defect import Defect, every
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from cts.reference.control_flow import loop, repeat, trip_counts
from cts.reference.state import State
from generators.program.control_flow import Loop
from generators.program.program import Program


def _trips(change: Callable[[np.ndarray], np.ndarray]) -> Substitute:
    """Build a loop of other numbers of iterations, from the first iteration on."""

    def step(state: State, operation: Loop) -> None:
        trips = change(trip_counts(state, operation))
        repeat(state, operation, range(int(trips.max(initial=0))), trips)

    return step


def _once(state: State, operation: Loop) -> None:
    repeat(state, operation, range(1))


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
        yield Defect("loop.one_too_few", {operation: _trips(lambda trips: trips - 1)})
        yield Defect("loop.one_too_many", {operation: _trips(lambda trips: trips + 1)})
        yield Defect("loop.runs_once", {operation: _once})
        yield Defect("loop.at_least_once", {operation: _trips(lambda trips: np.maximum(1, trips))})
        if operation.carried:
            yield Defect("loop.result_lost", {operation: _dropping})
        yield Defect("loop.not_carried", {operation: _not_carried})
        yield Defect("loop.index_stuck", {operation: _stuck})
        yield Defect("loop.index_from_one", {operation: _from_one})
