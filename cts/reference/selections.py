"""Branches and switches: each arm runs in the scope instances that take it, and phis choose by the arm that ran (SPIR-V 2.11, OpPhi)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from cts.reference.scalar_ranges import bounds, chosen_range, has_range
from cts.reference.scalars import numbers
from cts.reference.state import State
from cts.reference.trees import Tree, selected
from cts.reference.variables import merge, value_of
from generators.errors import GeneratorError, Rule
from generators.program.control_flow import Branch, Condition, Merged, Relation, Select, Switch
from generators.program.operation import Operation
from generators.program.values import is_scalar

_RELATIONS: Mapping[Relation, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "equal": operator.eq,
        "not_equal": operator.ne,
        "less": operator.lt,
        "less_equal": operator.le,
        "greater": operator.gt,
        "greater_equal": operator.ge,
    }
)


def holds(state: State, condition: Condition) -> np.ndarray:
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


def _compared(state: State, condition: Condition) -> tuple[np.ndarray, np.ndarray]:
    """Return whether a condition on ranges holds, and whether that is certain: the ranges do not overlap, or have one value each."""
    left, right = bounds(state, condition.left), bounds(state, condition.right)
    single = (left.low == left.high) & (right.low == right.high)
    return np.asarray(_RELATIONS[condition.relation](left.center, right.center)), single | (left.high < right.low) | (right.high < left.low)


def select(state: State, operation: Select) -> None:
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


def _select_values(state: State, operation: Select) -> None:
    """Choose between vectors and other values that are not scalars."""
    chosen = holds(state, operation.condition)
    parts: list[tuple[np.ndarray, Tree]] = []
    for positions, source in ((np.flatnonzero(chosen), operation.then), (np.flatnonzero(~chosen), operation.otherwise)):
        part = selected(value_of(state, source), positions)
        if len(positions) and part is not None:
            parts.append((positions, part))
    merge(state, operation.result.name, parts)


def take(state: State, taken: np.ndarray, arms: Sequence[Sequence[Operation]], merged: Sequence[Merged]) -> None:
    """Run ``arms[taken[i]]`` in the i-th executing instance, and merge the results of the arms. Other values of an arm are unknown after
    it.
    """
    parts = []
    for number, body in enumerate(arms):
        positions = np.flatnonzero(taken == number)
        if len(positions):
            part = state.part(positions)
            part.run(body)
            parts.append((number, part))
    state.drop_returned()
    remaining = [(number, state.positions(part.instances), part) for number, part in parts if len(part.instances)]
    if not remaining:
        return
    for item in merged:
        merge(state, item.result.name, [(where, value_of(part, item.sources[number])) for number, where, part in remaining])


def branch(state: State, operation: Branch) -> None:
    """Run ``then`` where the condition holds, and the other arm elsewhere."""
    taken = np.where(holds(state, operation.condition), 0, 1)
    take(state, taken, (operation.then, operation.otherwise), operation.merged)


def chosen_arm(state: State, operation: Switch) -> np.ndarray:
    """Return the index of the arm that each instance takes; the default has the last index."""
    selector = state.scalar(operation.selector)
    taken = np.full(len(selector), len(operation.arms))
    for number, arm in enumerate(operation.arms):
        taken[np.isin(selector, np.array(arm.literals, np.uint64))] = number
    return taken


def switch(state: State, operation: Switch) -> None:
    """Take the arm whose literals include the selector, otherwise the default."""
    take(state, chosen_arm(state, operation), (*(arm.body for arm in operation.arms), operation.default), operation.merged)
