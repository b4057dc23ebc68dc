"""Defects of branches, switches and exits: the wrong arm, the arm of another scope instance, an exit that is not taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from cts.defects.defect import Defect, every
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from cts.reference.control_flow import chosen_arm, holds, leave, loop, return_both, take
from cts.reference.state import State
from generators.program.control_flow import Branch, Condition, Exit, Loop, Relation, ReturnBoth, Switch
from generators.program.functions import Call
from generators.program.operation import Operation
from generators.program.program import Program
from generators.types import COMPONENT_TYPES

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
            taken, arms = np.where(holds(state, operation.condition), 0, 1), [operation.then, operation.otherwise]
        else:
            taken, arms = chosen_arm(state, operation), [*(arm.body for arm in operation.arms), operation.default]
        take(state, bend(taken, len(arms)), arms, operation.merged)

    return step


_OF_FIRST_INSTANCE = "branch.arm_of_first_instance"

_BENDS: tuple[tuple[Bend, str], ...] = (
    (lambda taken, count: (taken + 1) % count, "branch.other_arm"),
    (lambda taken, _: np.zeros_like(taken), "branch.first_arm"),
    (lambda taken, count: np.full_like(taken, count - 1), "branch.last_arm"),
    (lambda taken, _: np.full_like(taken, taken[0]), _OF_FIRST_INSTANCE),
)


def _other_signedness(condition: Condition) -> Condition:
    bits = condition.left.type.bits
    component = COMPONENT_TYPES[f"{'u' if condition.left.type.is_signed else 's'}{bits}"]
    left, right = (replace(value, type=component) for value in (condition.left, condition.right))
    return Condition(left, condition.relation, right)


def _by_other_signedness(state: State, operation: Branch) -> None:
    taken = np.where(holds(state, _other_signedness(operation.condition)), 0, 1)
    take(state, taken, (operation.then, operation.otherwise), operation.merged)


def _stays(state: State, operation: Exit | ReturnBoth) -> None:
    """Never take the exit."""


def _leaves_otherwise(state: State, operation: Exit) -> None:
    condition = operation.condition
    leave(state, replace(operation, condition=replace(condition, relation=_OPPOSITES[condition.relation])))


def _returns_otherwise(state: State, operation: ReturnBoth) -> None:
    condition = operation.condition
    return_both(state, replace(operation, condition=replace(condition, relation=_OPPOSITES[condition.relation])))


def _returns_first(state: State, operation: ReturnBoth) -> None:
    return_both(state, replace(operation, otherwise=operation.then, otherwise_returned=operation.then_returned))


def _returns_second(state: State, operation: ReturnBoth) -> None:
    return_both(state, replace(operation, then=operation.otherwise, then_returned=operation.otherwise_returned))


def _without(kind: str) -> Substitute:
    def step(state: State, operation: Loop) -> None:
        body = tuple(inner for inner in operation.body if not (isinstance(inner, Exit) and inner.kind == kind))
        loop(state, replace(operation, body=body))

    return step


def _exchanged(kind: str) -> Substitute:
    def other(inner: Operation) -> Operation:
        if isinstance(inner, Exit) and inner.kind == kind:
            return replace(inner, kind="continue" if kind == "break" else "break")
        return inner

    def step(state: State, operation: Loop) -> None:
        loop(state, replace(operation, body=tuple(other(inner) for inner in operation.body)))

    return step


@defects_of("branch", Branch, Switch, Exit, ReturnBoth, Call, Loop)
def branch_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the branches, switches and exits of ``program``."""
    operations = program.operations
    deciding: list[_Deciding] = [*every(operations, Branch), *every(operations, Switch)]
    for operation in deciding:
        selection = "branch" if isinstance(operation, Branch) else "switch"
        for bend, id_ in _BENDS:
            if id_ != _OF_FIRST_INSTANCE or program.instances > 1:
                yield Defect(id_, {operation: bent_arms(bend)}, {"selection": selection})
    for branch in every(operations, Branch):
        if branch.condition.relation not in ("equal", "not_equal"):
            yield Defect("branch.other_sign", {branch: _by_other_signedness})
    for exit_ in every(operations, Exit):
        if exit_.kind == "return":
            yield Defect("branch.return_ignored", {exit_: _stays})
            yield Defect("branch.return_inverted", {exit_: _leaves_otherwise})
    for both in every(operations, ReturnBoth):
        yield Defect("branch.other_arm_returns", {both: _returns_otherwise})
        yield Defect("branch.first_arm_returns", {both: _returns_first})
        yield Defect("branch.second_arm_returns", {both: _returns_second})
    for call_ in every(operations, Call):
        # A ReturnBoth at the end of the function shows nothing: no operation follows that could run.
        if any(isinstance(inner, ReturnBoth) for inner in call_.function.body[:-1]):
            follows: dict[Operation, Substitute] = {inner: _stays for inner in call_.function.body if isinstance(inner, ReturnBoth)}
            yield Defect("branch.returns_ignored", follows)
    for around in every(operations, Loop):
        for kind in sorted({inner.kind for inner in around.body if isinstance(inner, Exit)}):
            yield Defect("branch.exit_ignored", {around: _without(kind)}, {"exit": kind})
            other = "continue" if kind == "break" else "break"
            yield Defect("branch.exit_exchanged", {around: _exchanged(kind)}, {"exit": kind, "other": other})
