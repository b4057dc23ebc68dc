"""Loops that carry matrices and scalars, and their exits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from cts.reference.selections import holds
from cts.reference.state import State
from cts.reference.variables import define, merge, value_of
from generators.errors import GeneratorError, Rule
from generators.program.control_flow import Exit, Loop, ReturnBoth
from generators.program.operation import Operation
from generators.program.values import AnyValue, Operand, Selected, extent


def repeat(state: State, operation: Loop, indices: Iterable[int], trips: np.ndarray | None = None) -> None:
    """Run the body for each of ``indices``, the numbers of iterations. All carried values change at once.

    Args:
        state, operation: the state and the loop.
        indices: the iteration numbers, from which the loop's index follows.
        trips: number of iterations of each instance, (instances,), if it is not the number of ``indices``.
    """
    for carried in operation.carried:
        define(state, carried.current.name, value_of(state, carried.initial))
    numbers = state.instances
    alive = np.ones(len(numbers), bool)
    for iteration, index in enumerate(indices):
        if trips is not None:
            alive = alive & (iteration < trips)
        if not alive.any():
            return
        left = _iterate(state, operation, index, state.positions(numbers[alive]))
        alive = alive & np.isin(numbers, state.instances) & ~np.isin(numbers, left)


def trip_counts(state: State, operation: Loop) -> np.ndarray:
    """Return the number of times that each instance runs the body, int64.

    Raises:
        GeneratorError: the loop does not end.
    """
    limit = extent(operation.limit) if isinstance(operation.limit, Selected) else state.scalar(operation.limit).astype(np.int64)
    start, step = (state.scalar(value).astype(np.int64) for value in (operation.start, operation.step))
    if not step.all():
        raise GeneratorError(Rule.ENDLESS_LOOP, f"the loop of {operation.index.name} steps by 0 and does not end; give another step")
    return np.asarray(np.maximum(-((start - limit) // step), 0))


def loop(state: State, operation: Loop) -> None:
    """Run the body for the trip count."""
    trips = trip_counts(state, operation)
    repeat(state, operation, range(int(trips.max(initial=0))), trips)


def leave(state: State, operation: Exit) -> None:
    """Return early: the instances for which the condition holds run the body and nothing after it.

    Raises:
        GeneratorError: a break or continue is outside a loop's own body.
    """
    if operation.kind != "return":
        raise GeneratorError(Rule.EXIT_PLACE, f"a {operation.kind} is outside a loop's own body: put it among the loop's own operations")
    return_where(state, holds(state, operation.condition), operation.body, operation.returned)


def return_where(state: State, taken: np.ndarray, body: Sequence[Operation], returned: AnyValue | Operand | None) -> None:
    """Let the instances of ``taken`` (bool) run ``body`` and return ``returned``."""
    if taken.any():
        part = state.part(np.flatnonzero(taken))
        part.run(body)
        if returned is not None and len(part.instances):
            value = value_of(part, returned)
            state.activation.returned.append((part.instances, value))
        state.activation.gone = np.union1d(state.activation.gone, part.instances)
        state.drop_returned()


def return_both(state: State, operation: ReturnBoth) -> None:
    """Let every instance return, from the arm of its condition; nothing after it runs."""
    taken = holds(state, operation.condition)
    numbers = state.instances[~taken]
    return_where(state, taken, operation.then, operation.then_returned)
    if len(numbers):
        return_where(state, np.isin(state.instances, numbers), operation.otherwise, operation.otherwise_returned)


def _iterate(state: State, operation: Loop, index: int, positions: np.ndarray) -> np.ndarray:
    """Run one iteration in the instances at ``positions``. Return the indices of the instances that leave the loop."""
    part = state.part(positions)
    part.scalars[operation.index.name] = part.scalar(operation.start) + np.uint64(index) * part.scalar(operation.step)
    left = np.zeros(0, np.int64)
    for segment, way_out in _segments(operation.body):
        part.run(segment)
        if way_out is None or not len(part.instances):
            break
        taken = holds(part, way_out.condition)
        if taken.any():
            leaving = part.part(np.flatnonzero(taken))
            leaving.run(way_out.body)
            if way_out.kind == "break":
                left = np.union1d(left, leaving.instances)
            part.narrow(np.flatnonzero(~taken))
            if not len(part.instances):
                break
    state.drop_returned()
    if not len(part.instances):
        return left
    changed = state.positions(part.instances)
    following = [(one.current, value_of(part, one.next)) for one in operation.carried]
    for current, value in following:
        merge(state, current.name, [(np.arange(len(state.instances)), value_of(state, current)), (changed, value)])
    return left


def _segments(body: Sequence[Operation]) -> Iterator[tuple[list[Operation], Exit | None]]:
    """Yield the operations between exits from the iteration, each group with the exit that follows."""
    segment: list[Operation] = []
    for operation in body:
        if isinstance(operation, Exit) and operation.kind != "return":
            yield segment, operation
            segment = []
        else:
            segment.append(operation)
    yield segment, None
