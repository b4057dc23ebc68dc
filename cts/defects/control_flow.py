"""Defects of branches, switches, exits and loops: the wrong arm, the arm of another scope instance, an exit that is not taken, one
iteration too few or too many, the accumulator not carried, the index stuck.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from cts.defects.defect import Defect, every
from cts.defects.edits import instead, of_first, skipped
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from cts.reference.control_flow import chosen_arm, holds, loop, repeat, take, take_arm, trip_counts
from cts.reference.state import State
from generators.program.control_flow import Branch, Condition, Exit, Loop, Relation, ReturnBoth, Switch
from generators.program.functions import Call
from generators.program.operation import Operation
from generators.program.program import Program
from generators.types import of_other_sign

_Deciding = Branch | Switch
Bend = Callable[[np.ndarray, int], np.ndarray]
"""Takes the arm of each instance and the number of arms, and returns the arms that are taken instead."""

_OPPOSITES: dict[Relation, Relation] = {
    "equal": "not_equal",
    "not_equal": "equal",
    "less": "greater_equal",
    "less_equal": "greater",
    "greater": "less_equal",
    "greater_equal": "less",
}


def bent_arms(bend: Bend) -> Substitute:
    """Build a step of a branch or switch that takes other arms."""

    def step(state: State, operation: _Deciding) -> None:
        if isinstance(operation, Branch):
            taken = np.where(holds(state, operation.condition), 0, 1)
            take(state, bend(taken, 2), [operation.then, operation.otherwise], operation.merged)
        else:
            take_arm(state, operation, bend(chosen_arm(state, operation), len(operation.arms) + 1))

    return step


_BENDS: tuple[tuple[Bend, str], ...] = (
    (lambda taken, count: (taken + 1) % count, "branch.other_arm"),
    (lambda taken, _: np.zeros_like(taken), "branch.first_arm"),
    (lambda taken, count: np.full_like(taken, count - 1), "branch.last_arm"),
)
_INSTANCE_BENDS: tuple[tuple[Bend, str], ...] = ((lambda taken, _: of_first(taken), "branch.arm_of_first_instance"),)


def _by_other_signedness(branch: Branch) -> Branch:
    condition = branch.condition
    left, right = (replace(value, type=of_other_sign(condition.left.type)) for value in (condition.left, condition.right))
    return replace(branch, condition=Condition(left, condition.relation, right))


def _inverted(operation: Exit | ReturnBoth) -> Exit | ReturnBoth:
    condition = operation.condition
    return replace(operation, condition=replace(condition, relation=_OPPOSITES[condition.relation]))


def _returning(arm: str, other: str) -> Substitute:
    """Build a step that takes and returns the operations of ``arm`` also in place of those of the ``other`` arm."""
    return instead(
        lambda both: replace(both, **{other: getattr(both, arm), f"{other}_returned": getattr(both, f"{arm}_returned")}),
    )


def _with_exits(kind: str, change: Callable[[Exit], tuple[Exit, ...]]) -> Substitute:
    """Build a loop that has other exits in place of those of a kind."""

    def changed(inner: Operation) -> tuple[Operation, ...]:
        return change(inner) if isinstance(inner, Exit) and inner.kind == kind else (inner,)

    return instead(lambda around: replace(around, body=tuple(one for inner in around.body for one in changed(inner))))


def _exchanged(exit_: Exit) -> tuple[Exit, ...]:
    return (replace(exit_, kind="continue" if exit_.kind == "break" else "break"),)


@defects_of("branch", Branch, Switch, Exit, ReturnBoth, Call, Loop)
def branch_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the branches, switches and exits of ``program``."""
    operations = program.operations
    deciding: list[_Deciding] = every(operations, Branch, Switch)
    for operation in deciding:
        selection = "branch" if isinstance(operation, Branch) else "switch"
        for bend, id_ in _BENDS + (_INSTANCE_BENDS if program.instances > 1 else ()):
            yield Defect(id_, {operation: bent_arms(bend)}, {"selection": selection})
    for branch in every(operations, Branch):
        if branch.condition.relation not in ("equal", "not_equal"):
            yield Defect("branch.other_sign", {branch: instead(_by_other_signedness)})
    for exit_ in every(operations, Exit):
        if exit_.kind in ("return", "discard"):
            yield Defect("branch.return_ignored", {exit_: skipped})
            yield Defect("branch.return_inverted", {exit_: instead(_inverted)})
    for both in every(operations, ReturnBoth):
        yield Defect("branch.other_arm_returns", {both: instead(_inverted)})
        yield Defect("branch.first_arm_returns", {both: _returning("then", "otherwise")})
        yield Defect("branch.second_arm_returns", {both: _returning("otherwise", "then")})
    for call_ in every(operations, Call):
        # A ReturnBoth at the end of the function shows nothing: no operation follows that could run.
        if any(isinstance(inner, ReturnBoth) for inner in call_.function.body[:-1]):
            follows: dict[Operation, Substitute] = {inner: skipped for inner in call_.function.body if isinstance(inner, ReturnBoth)}
            yield Defect("branch.returns_ignored", follows)
    for around in every(operations, Loop):
        for kind in sorted({inner.kind for inner in around.body if isinstance(inner, Exit)}):
            other = "continue" if kind == "break" else "break"
            yield Defect("branch.exit_ignored", {around: _with_exits(kind, lambda _: ())}, {"exit": kind})
            yield Defect("branch.exit_exchanged", {around: _with_exits(kind, _exchanged)}, {"exit": kind, "other": other})


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
