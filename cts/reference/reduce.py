"""OpCooperativeMatrixReduceNV (CM2-RED-*)."""

from __future__ import annotations

import math
from types import MappingProxyType

import numpy as np

from cts.reference.callbacks import applied
from cts.reference.state import State, evaluates
from cts.reference.values import MatrixValue
from cts.verdict.expected import Authority
from generators.errors import GeneratorError, Rule
from generators.numerics.exactness import quantum_exponents
from generators.numerics.formats import encode
from generators.program.functions import Function
from generators.program.reduce import Reduce
from generators.program.scalars import ScalarArithmetic
from generators.program.walking import flattened
from generators.types import ComponentType, ReduceMode

COMBINED = Authority("CM2-RED-08")

_ORDERS = 3
"""Number of different orders in which a group is combined, whose results must agree: forwards in runs, backwards in pairs, and one more."""

_SHAPES = MappingProxyType({ReduceMode.ROW: "CM2-RED-04", ReduceMode.COLUMN: "CM2-RED-05", ReduceMode.TWO_BY_TWO: "CM2-RED-03"})
"""The requirement on the shape of the result, by mode."""


@evaluates(Reduce)
def reduce(state: State, operation: Reduce) -> None:
    """Combine the elements of each group: each counts once, in any order and grouping (CM2-RED-08, F-CM2-4), and all results of a group are
    equal (CM2-RED-10).

    Raises:
        GeneratorError: the shapes do not match (CM2-RED-03 to CM2-RED-05), or the result depends on the order of combination.
    """
    source, target = operation.matrix.type, operation.result.type
    groups = grouped(operation, state.matrices[operation.matrix.name].numbers)
    if source.component.is_float:
        _check_sums(groups, operation.function, source.component)
    result = spread(operation, _combined(state, operation.function, groups))
    bits = encode(target.component, result)
    state.matrices[operation.result.name] = MatrixValue(target.component, bits, target.component.is_float, authority=COMBINED)


def grouped(operation: Reduce, values: np.ndarray) -> np.ndarray:
    """Return the elements of (instances, rows, columns) with each group along the last axis.

    Raises:
        GeneratorError: the shapes do not match (CM2-RED-03 to CM2-RED-05).
    """
    rows, columns = operation.matrix.type.shape
    to_rows, to_columns = operation.result.type.shape
    count = len(values)
    match operation.mode:
        case ReduceMode.ROW:
            fits, groups = to_rows == rows, values
        case ReduceMode.COLUMN:
            fits, groups = to_columns == columns, values.transpose(0, 2, 1)
        case ReduceMode.ROW_AND_COLUMN:
            fits, groups = True, values.reshape(count, 1, -1)
        case ReduceMode.TWO_BY_TWO:
            fits = (2 * to_rows, 2 * to_columns) == (rows, columns)
            if fits:
                squares = values.reshape(count, to_rows, 2, to_columns, 2).transpose(0, 1, 3, 2, 4)
                groups = squares.reshape(count, to_rows, to_columns, 4)
    if not fits:
        raise GeneratorError(
            _SHAPES[operation.mode],
            f"a {operation.mode.name} reduction of {rows}x{columns} has no result of {to_rows}x{to_columns} (CM2-RED-03 to CM2-RED-05)",
        )
    return groups


def spread(operation: Reduce, combined: np.ndarray) -> np.ndarray:
    """Copy the value of each group to all elements of the result that it determines, (instances, rows, columns)."""
    shape = len(combined), *operation.result.type.shape
    match operation.mode:
        case ReduceMode.COLUMN:
            return np.broadcast_to(combined[:, None, :], shape)
        case ReduceMode.TWO_BY_TWO:
            return combined
        case _:
            return np.broadcast_to(combined[:, :, None], shape)


def _combined(state: State, function: Function, groups: np.ndarray) -> np.ndarray:
    """Combine each group, along the last axis, to one value.

    Raises:
        GeneratorError: orders disagree.
    """
    length = groups.shape[-1]
    forwards = _in_runs(state, function, groups)
    rng = np.random.default_rng(length)
    for order in range(1, _ORDERS):
        arrangement = np.arange(length)[::-1] if order == 1 else rng.permutation(length)
        if not np.array_equal(_in_pairs(state, function, groups[..., arrangement]), forwards):
            raise GeneratorError(
                "CM2-RED-09", f"{function.name} gives another result in another order; use other data or another function (CM2-RED-09)"
            )
    return forwards


def in_order(state: State, function: Function, groups: np.ndarray) -> np.ndarray:
    """Combine each group, along the last axis, from its first element to its last."""
    result, owners = groups[..., 0], _owners(state, groups)
    for i in range(1, groups.shape[-1]):
        result = applied(state, function, [result, groups[..., i]], owners)
    return np.asarray(result)


def _in_runs(state: State, function: Function, groups: np.ndarray) -> np.ndarray:
    """Combine runs of each group from first element to last, then their results from first to last. Runs of about the square root of a
    group's length need the fewest calls."""
    run = math.isqrt(groups.shape[-1])
    whole = groups.shape[-1] // run * run
    runs = groups[..., :whole].reshape(*groups.shape[:-1], -1, run)
    return in_order(state, function, np.concatenate([in_order(state, function, runs), groups[..., whole:]], axis=-1))


def _owners(state: State, groups: np.ndarray) -> np.ndarray:
    """Return the scope instance of each group."""
    return state.instances.reshape((-1,) + (1,) * (groups.ndim - 2))


def _in_pairs(state: State, function: Function, groups: np.ndarray) -> np.ndarray:
    while groups.shape[-1] > 1:
        even = groups.shape[-1] // 2 * 2
        pairs = applied(state, function, [groups[..., 1:even:2], groups[..., 0:even:2]], _owners(state, groups)[..., None])
        groups = np.concatenate([pairs, groups[..., even:]], axis=-1)
    return groups[..., 0]


def _check_sums(groups: np.ndarray, function: Function, component: ComponentType) -> None:
    """Raise GeneratorError if some order of a sum may round: the sum of magnitudes must fit the significand in units of the lowest bit."""
    sums = (one for one in flattened(function.body) if isinstance(one, ScalarArithmetic) and one.operator in ("add", "subtract"))
    if not any(one.result.type.is_float for one in sums):
        return
    quantum = quantum_exponents(groups).min(axis=-1).astype(np.int32)
    if (np.abs(groups).sum(axis=-1) > np.ldexp(1.0, np.minimum(quantum + component.precision, 1023))).any():
        raise GeneratorError(Rule.INEXACT, f"{function.name}: some order of summation is not exact in {component}; use smaller data")
