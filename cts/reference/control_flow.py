"""Structured control flow: each arm and each iteration runs in the scope instances that take it, and phis choose by the arm that ran
(SPIR-V 2.11, OpPhi). Code of single invocations has a lane for each invocation, with all values of its scope instance."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from cts.reference.scalar_ranges import bounds, chosen_range, has_range
from cts.reference.scalars import numbers
from cts.reference.state import State, evaluates
from cts.reference.trees import Tree, selected
from cts.reference.values import select as select_lanes
from cts.reference.variables import define, merge, value_of
from generators.errors import GeneratorError, Rule
from generators.program import control_flow as language
from generators.program.operation import Operation
from generators.program.values import AnyValue, Operand, Selected, extent, is_scalar

_RELATIONS: Mapping[language.Relation, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "equal": operator.eq,
        "not_equal": operator.ne,
        "less": operator.lt,
        "less_equal": operator.le,
        "greater": operator.gt,
        "greater_equal": operator.ge,
    }
)


def holds(state: State, condition: language.Condition) -> np.ndarray:
    """Tell whether the condition holds, bool, (instances,).

    Raises:
        GeneratorError: two types are compared.
    """
    component = condition.left.type
    if component != condition.right.type:
        raise GeneratorError(Rule.TYPES_DIFFER, f"{condition.left.name} and {condition.right.name} are compared: give them one type")
    if has_range(state, condition.left, condition.right):
        found, certain = _compared(state, condition)
        if not certain.all():
            raise GeneratorError(
                Rule.RANGES_OVERLAP,
                f"{condition.left.name} and {condition.right.name} are compared, and their ranges overlap; use other data",
            )
        return found
    left, right = (numbers(state.scalar(value), component) for value in (condition.left, condition.right))
    if component.is_float and (np.isnan(left) | np.isnan(right)).any():
        raise GeneratorError(
            Rule.NAN_OPERAND, f"{condition.left.name} and {condition.right.name} are compared, and one is NaN; use other data"
        )
    return np.asarray(_RELATIONS[condition.relation](left, right))


def _compared(state: State, condition: language.Condition) -> tuple[np.ndarray, np.ndarray]:
    """Return whether a condition on ranges holds, and whether that is certain: the ranges do not overlap, or have one value each."""
    left, right = bounds(state, condition.left), bounds(state, condition.right)
    single = (left.low == left.high) & (right.low == right.high)
    return np.asarray(_RELATIONS[condition.relation](left.center, right.center)), single | (left.high < right.low) | (right.high < left.low)


@evaluates(language.Select)
def select(state: State, operation: language.Select) -> None:
    """Choose a whole value in each invocation by the condition. If both numbers are equal, the condition may be unknown.

    Raises:
        GeneratorError: see ``holds``.
    """
    condition = operation.condition
    if not (is_scalar(operation.then) and is_scalar(operation.otherwise) and is_scalar(operation.result)):
        _select_values(state, operation)
        return
    if has_range(state, operation.then, operation.otherwise):
        chosen_range(state, operation.result, holds(state, condition), operation.then, operation.otherwise)
        return
    then, otherwise = state.scalar(operation.then), state.scalar(operation.otherwise)
    if has_range(state, condition.left, condition.right):
        found, certain = _compared(state, condition)
        if (certain | (then == otherwise)).all():
            state.scalars[operation.result.name] = np.where(found, then, otherwise)
            return
    state.scalars[operation.result.name] = np.where(holds(state, condition), then, otherwise)


def _select_values(state: State, operation: language.Select) -> None:
    """Choose between vectors and other values that are not scalars."""
    chosen = holds(state, operation.condition)
    parts: list[tuple[np.ndarray, Tree]] = []
    for positions, source in ((np.flatnonzero(chosen), operation.then), (np.flatnonzero(~chosen), operation.otherwise)):
        part = selected(value_of(state, source), positions)
        if len(positions) and part is not None:
            parts.append((positions, part))
    merge(state, operation.result.name, parts)


def take(
    state: State,
    taken: np.ndarray,
    arms: Sequence[Sequence[Operation]],
    merged: Sequence[language.Merged],
    continues: Sequence[bool] = (),
) -> None:
    """Run ``arms[taken[i]]`` in the i-th executing instance, and merge the results of the arms. Other values of an arm are unknown after
    it. Instances whose arm ``continues`` rest until the next iteration.

    Raises:
        GeneratorError: an arm continues outside a loop.
    """
    activation = state.activation
    parts = []
    for number, body in enumerate(arms):
        positions = np.flatnonzero(taken == number)
        if len(positions):
            part = state.part(positions)
            part.run(body)
            if not any(continues[number : number + 1]):
                parts.append((number - sum(continues[:number]), part))
            elif activation.continued is None:
                raise GeneratorError(Rule.EXIT_PLACE, "an arm continues outside a loop: put the switch among a loop's own operations")
            else:
                activation.gone = np.union1d(activation.gone, part.instances)
                activation.continued = np.union1d(activation.continued, part.instances)
    state.drop_returned()
    remaining = [(number, state.positions(part.instances), part) for number, part in parts if len(part.instances)]
    if not remaining:
        return
    for item in merged:
        merge(state, item.result.name, [(where, value_of(part, item.sources[number])) for number, where, part in remaining])


@evaluates(language.Branch)
def branch(state: State, operation: language.Branch) -> None:
    """Run ``then`` where the condition holds, and the other arm elsewhere."""
    taken = np.where(holds(state, operation.condition), 0, 1)
    take(state, taken, (operation.then, operation.otherwise), operation.merged)


def chosen_arm(state: State, operation: language.Switch) -> np.ndarray:
    """Return the index of the arm that each instance takes; the default has the last index."""
    selector = state.scalar(operation.selector)
    taken = np.full(len(selector), len(operation.arms))
    for number, arm in enumerate(operation.arms):
        taken[np.isin(selector, np.array(arm.literals, np.uint64))] = number
    return taken


@evaluates(language.Switch)
def switch(state: State, operation: language.Switch) -> None:
    """Take the arm whose literals include the selector, otherwise the default."""
    take_arm(state, operation, chosen_arm(state, operation))


def take_arm(state: State, operation: language.Switch, taken: np.ndarray) -> None:
    """Run the arm with the number ``taken[i]`` in the i-th executing instance; the default has the last number."""
    continues = [arm.continues for arm in operation.arms]
    take(state, taken, (*(arm.body for arm in operation.arms), operation.default), operation.merged, continues)


def repeat(state: State, operation: language.Loop, indices: Iterable[int], trips: np.ndarray | None = None) -> None:
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
        state.begin_round()
        left = _iterate(state, operation, index, state.positions(numbers[alive]))
        if state.instances is not numbers:
            alive = alive & np.isin(numbers, state.instances)
        if len(left):
            alive = alive & ~np.isin(numbers, left)


def trip_counts(state: State, operation: language.Loop) -> np.ndarray:
    """Return the number of times that each instance runs the body, int64.

    Raises:
        GeneratorError: the loop does not end.
    """
    limit = extent(operation.limit) if isinstance(operation.limit, Selected) else state.scalar(operation.limit).astype(np.int64)
    start, step = (state.scalar(value).astype(np.int64) for value in (operation.start, operation.step))
    if not step.all():
        raise GeneratorError(Rule.ENDLESS_LOOP, f"the loop of {operation.index.name} steps by 0 and does not end; give another step")
    return np.asarray(np.maximum(-((start - limit) // step), 0))


@evaluates(language.Loop)
def loop(state: State, operation: language.Loop) -> None:
    """Run the body for the trip count."""
    trips = trip_counts(state, operation)
    repeat(state, operation, range(int(trips.max(initial=0))), trips)


@evaluates(language.Exit)
def leave(state: State, operation: language.Exit) -> None:
    """Return early: the instances for which the condition holds run the body and nothing after it.

    Raises:
        GeneratorError: a break or continue is outside a loop's own body.
    """
    if operation.kind not in language.ENDINGS:
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


@evaluates(language.ReturnBoth)
def return_both(state: State, operation: language.ReturnBoth) -> None:
    """Let every instance return, from the arm of its condition; nothing after it runs."""
    taken = holds(state, operation.condition)
    numbers = state.instances[~taken]
    return_where(state, taken, operation.then, operation.then_returned)
    if len(numbers):
        return_where(state, np.isin(state.instances, numbers), operation.otherwise, operation.otherwise_returned)


def _iterate(state: State, operation: language.Loop, index: int, positions: np.ndarray) -> np.ndarray:
    """Run one iteration in the instances at ``positions``. Return the indices of the instances that leave the loop."""
    part = state.part(positions)
    part.scalars[operation.index.name] = part.scalar(operation.start) + np.uint64(index) * part.scalar(operation.step)
    left = np.zeros(0, np.int64)
    around, activation = state.activation.continued, state.activation
    activation.continued = np.zeros(0, np.int64)
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
    if len(activation.continued):
        activation.gone = np.setdiff1d(activation.gone, activation.continued)
    activation.continued = around
    state.drop_returned()
    if not len(part.instances):
        return left
    changed = state.positions(part.instances)
    following = [(one.current, value_of(part, one.next)) for one in operation.carried]
    for current, value in following:
        merge(state, current.name, [(np.arange(len(state.instances)), value_of(state, current)), (changed, value)])
    return left


def _segments(body: Sequence[Operation]) -> Iterator[tuple[list[Operation], language.Exit | None]]:
    """Yield the operations between exits from the iteration, each group with the exit that follows."""
    segment: list[Operation] = []
    for operation in body:
        if isinstance(operation, language.Exit) and operation.kind not in language.ENDINGS:
            yield segment, operation
            segment = []
        else:
            segment.append(operation)
    yield segment, None


@evaluates(language.PerInvocation)
def per_invocation(state: State, operation: language.PerInvocation) -> None:
    """Run the body in all invocations, each with its results from earlier regions.

    Raises:
        GeneratorError: the shape of the program's workgroups does not give the number of invocations in a scope instance, or some of them
            return before the end of the program.
    """
    shape = state.program.shape
    if shape.subgroup_size is None and shape.invocations is None:
        raise GeneratorError(
            Rule.SUBGROUP_SIZE, "code of single invocations needs their number: give WorkgroupShape.subgroup_size or .invocations"
        )
    inside = lanes_of(state, operation.size)
    run_invocations(state, operation, inside, operation.body, dict(inside.variables), len(inside.instances))


def run_invocations(
    state: State,
    operation: language.PerInvocation,
    inside: State,
    body: Sequence[Operation],
    given: Mapping[str, Tree | None],
    lanes: int,
) -> None:
    """Run code of single invocations, or the rest of it.

    Args:
        state, operation: the state of the scope instances and the code.
        inside: the state of the invocations.
        body: what they run.
        given, lanes: the variables and the number of invocations before the code.

    Raises:
        GeneratorError: some of them return before the end of the program.
    """
    inside.run(body)
    if len(inside.instances) < lanes and state.program.operations[-1] is not operation:
        raise GeneratorError(
            Rule.AFTER_RETURN, "an invocation returns from its own code, and more code follows; end the code with a branch"
        )
    for name, tree in inside.variables.items():
        if tree is not given.get(name):
            # Each invocation has written its own value, so the scope instance has no common value.
            state.set_variable(name, None)
    state.invocations = inside


def lanes_of(state: State, size: int) -> State:
    """Return a state of all invocations, ``size`` in each scope instance, with the values of their instances and their own results from
    earlier regions."""
    own = (state.instances[:, None] * size + np.arange(size)).reshape(-1)
    of = np.repeat(np.arange(len(state.instances)), size)
    scalars = {name: value[of] for name, value in state.scalars.items()}
    inside = state.apart(own, state.instances[of], scalars, {name: selected(tree, of) for name, tree in state.aggregates.items()})
    inside.variables = {name: selected(tree, of) for name, tree in state.variables.items()}
    before = state.invocations
    positions = np.searchsorted(before.instances, own) if before is not None else own
    if before is not None:
        inside.scalars.update({name: value[positions] for name, value in before.scalars.items()})
        inside.aggregates.update({name: selected(tree, positions) for name, tree in before.aggregates.items()})
        inside.matrices.update({name: select_lanes(value, positions) for name, value in before.matrices.items()})
        written = {name: tree for name, tree in before.variables.items() if state.variables.get(name) is None}
        inside.variables.update({name: selected(tree, positions) for name, tree in written.items()})
    return inside


@evaluates(language.Stated)
def stated(state: State, operation: language.Stated) -> None:
    """Perform the stated effect instead of the code."""
    state.perform(state, operation.effect)
