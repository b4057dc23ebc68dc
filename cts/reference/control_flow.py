"""Loops that carry matrices, and what leaves them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from cts.reference.selections import holds
from cts.reference.state import State
from cts.reference.values import select
from generators.errors import GeneratorError
from generators.program.control_flow import Exit, Loop
from generators.program.program import Operation


def repeat(state: State, operation: Loop, indices: Iterable[int], trips: np.ndarray | None = None) -> None:
    """Runs the body for each index. All carried matrices change at once.

    Args:
        state, operation: where and what.
        indices: what the index is in each iteration.
        trips: how many iterations each instance runs, (instances,), where they are not all of ``indices``.
    """
    for carried in operation.carried:
        state.matrices[carried.current.name] = state.matrices[carried.initial.name]
    alive = np.ones(len(state.instances), bool)
    for iteration, index in enumerate(indices):
        if trips is not None:
            alive = alive & (iteration < trips)
        positions = np.flatnonzero(alive)
        if not len(positions):
            return
        alive[positions[_iterate(state, operation, index, positions)]] = False


def trip_counts(state: State, operation: Loop) -> np.ndarray:
    """How often each instance runs the body, int64."""
    return state.scalar(operation.trip_count).astype(np.int64)


def loop(state: State, operation: Loop) -> None:
    """Runs the body as often as the trip count says."""
    trips = trip_counts(state, operation)
    repeat(state, operation, range(int(trips.max(initial=0))), trips)


def leave(state: State, operation: Exit) -> None:
    """A return: the instances for which the condition holds run the body and nothing after it.

    Raises:
        GeneratorError: a break or continue stands outside of a loop's own body, or a return inside of something.
    """
    if operation.kind != "return" or not state.whole:
        raise GeneratorError(f"a {operation.kind} stands where it cannot: put returns among the program's own operations, others in a loop")
    taken = holds(state, operation.condition)
    if taken.any():
        state.run(state.part(np.flatnonzero(taken)), operation.body)
    state.narrow(np.flatnonzero(~taken))


def _iterate(state: State, operation: Loop, index: int, positions: np.ndarray) -> np.ndarray:
    """One iteration in the instances at ``positions``. Returns which of those leave the loop, bool, of the shape of ``positions``."""
    part = state.part(positions)
    part.scalars[operation.index.name] = np.full(len(positions), index, np.uint64)
    left = np.zeros(len(positions), bool)
    going = np.arange(len(positions))
    for segment, way_out in _segments(operation.body):
        part.run(part, segment)
        if way_out is None:
            break
        taken = holds(part, way_out.condition)
        if taken.any():
            part.run(part.part(np.flatnonzero(taken)), way_out.body)
            left[going[taken]] = way_out.kind == "break"
            going = going[~taken]
            if not len(going):
                return left
            part.narrow(np.flatnonzero(~taken))
    after = [(carried.current.name, part.matrices[carried.next.name]) for carried in operation.carried]
    for name, value in after:
        changed = positions[going]
        kept = np.setdiff1d(np.arange(len(state.instances)), changed)
        before = [(kept, select(state.matrices[name], kept))] if len(kept) else []
        state.merge_matrix(name, [(changed, value), *before])
    return left


def _segments(body: Sequence[Operation]) -> Iterator[tuple[list[Operation], Exit | None]]:
    """The operations between exits, each with the exit that follows."""
    segment: list[Operation] = []
    for operation in body:
        if isinstance(operation, Exit):
            yield segment, operation
            segment = []
        else:
            segment.append(operation)
    yield segment, None
