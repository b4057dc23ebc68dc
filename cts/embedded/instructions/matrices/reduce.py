"""OpCooperativeMatrixReduceNV (SPV_NV_cooperative_matrix2, 3.49.13).

A device may combine elements and intermediate results in any order (facts.md C18). This device takes each element once (F-CM2-4). Each
invocation first combines its own elements of a group, one after the other. Then the invocations combine their results, neighbours first.
So the mapping of elements to invocations determines order and grouping.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cts.embedded.diagnostics import UndefinedUse, Violation
from cts.embedded.instructions.matrices.callbacks import Callback, Lanes
from cts.embedded.instructions.registry import executes
from cts.embedded.machine.elements import NO_ELEMENT, element_table
from cts.embedded.machine.machine import Run
from cts.embedded.machine.remembering import remember_small
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.spirv_types import MatrixType
from cts.embedded.types.values import Undefined, Value
from generators.spirv.enumerants import CooperativeMatrixReduce as Reduce
from generators.spirv.enumerants import Op
from generators.types import Use

_WHAT = "OpCooperativeMatrixReduceNV"
_ROW, _COLUMN, _SQUARE = int(Reduce.Row), int(Reduce.Column), int(Reduce._2x2)
_MODES = (_ROW, _COLUMN, _ROW | _COLUMN, _SQUARE)


@dataclass(frozen=True)
class Schedule:
    """The order in which values combine. Values are numbered: first the elements, row after row, then the results of each step.

    Attributes:
        steps: in order, each a pair of arrays of the same shape (pairs,): numbers of the values that combine.
        totals: for each group, the number of the combination of all its elements, shape (groups,).
    """

    steps: tuple[tuple[np.ndarray, np.ndarray], ...]
    totals: np.ndarray


@remember_small(maxsize=64, elements=lambda _, rows, columns, *__: rows * columns)
def schedule(mapping: str, rows: int, columns: int, lanes: int, mode: int) -> Schedule:
    """Return the order in which ``lanes`` invocations reduce a matrix of rows x columns.

    Groups are numbered row by row, column by column, or (2x2) row after row of the result.
    """
    table = element_table(mapping, rows, columns, lanes)
    held: list[dict[int, list[int]]] = [{} for _ in range(_group_count(rows, columns, mode))]
    groups = _groups(rows, columns, mode)
    for lane in range(lanes):
        for element in table[:, lane][table[:, lane] != NO_ELEMENT].tolist():
            held[groups[element]].setdefault(lane, []).append(element)
    runs = [run for group in held for run in group.values()]
    steps: list[tuple[np.ndarray, np.ndarray]] = []
    next_value = rows * columns

    def step(pairs: list[tuple[int, int]]) -> range:
        nonlocal next_value
        left, right = np.array(pairs).T
        steps.append((left, right))
        made = range(next_value, next_value + len(pairs))
        next_value += len(pairs)
        return made

    longer, place = [run for run in runs if len(run) > 1], 1
    while longer:
        # The first element of a run is the combination of all elements before ``place``.
        for run, made in zip(longer, step([(run[0], run[place]) for run in longer]), strict=True):
            run[0] = made
        place += 1
        longer = [run for run in longer if len(run) > place]
    partial = [[run[0] for run in group.values()] for group in held]
    while any(len(values) > 1 for values in partial):
        combined = iter(step([pair for values in partial for pair in zip(values[::2], values[1::2], strict=False)]))
        partial = [[next(combined) for _ in range(len(values) // 2)] + values[len(values) & ~1 :] for values in partial]
    return Schedule(tuple(steps), np.array([values[0] for values in partial]))


def _group_count(rows: int, columns: int, mode: int) -> int:
    return {_ROW: rows, _COLUMN: columns, _ROW | _COLUMN: 1, _SQUARE: rows * columns // 4}[mode]


def _groups(rows: int, columns: int, mode: int) -> list[int]:
    """Return the group of each element."""
    row, column = np.indices((rows, columns))
    square = row // 2 * (columns // 2) + column // 2
    group: list[int] = {_ROW: row, _COLUMN: column, _ROW | _COLUMN: 0 * row, _SQUARE: square}[mode].ravel().tolist()
    return group


def _check(result: MatrixType, matrix: MatrixType, mode: int) -> None:
    if result.number != matrix.number or result.scope != matrix.scope:
        raise Violation("CM2-RED-01", f"a {matrix} to a {result}; component type and scope must be the same")
    if matrix.use is not Use.ACCUMULATOR or result.use is not Use.ACCUMULATOR:
        raise Violation("CM2-RED-01", f"a {matrix} to a {result}; both must be accumulators")
    if mode not in _MODES:
        raise Violation("CM2-RED-02", f"{mode:#x} is not Row, Column, both, or 2x2")
    if mode == _SQUARE and (2 * result.rows, 2 * result.columns) != (matrix.rows, matrix.columns):
        raise Violation("CM2-RED-03", f"{_WHAT} 2x2: a {matrix} to a {result}, which does not have half its rows and columns")
    if mode == _ROW and result.rows != matrix.rows:
        raise Violation("CM2-RED-04", f"{_WHAT} Row: a {matrix} to a {result}; the number of rows must be the same")
    if mode == _COLUMN and result.columns != matrix.columns:
        raise Violation("CM2-RED-05", f"{_WHAT} Column: a {matrix} to a {result}; the number of columns must be the same")


@executes(Op.CooperativeMatrixReduceEXT)
def _reduce(translation: Translation, words: Words) -> Run:
    id_, mode = words[2], words[3]
    result, matrix = translation.types[words[0]], translation.matrix_type(id_, "CM2-RED-01", "the matrix")
    if not isinstance(result, MatrixType):
        raise Violation("CM2-RED-01", "the result is not a cooperative matrix")
    _check(result, matrix, mode)
    callback = Callback(translation, Op.CooperativeMatrixReduceEXT, matrix, words[4], "CM2-RED-07", "CombineFunc")
    if callback.type.result != matrix.number or callback.type.parameters != (matrix.number, matrix.number):
        raise Violation("CM2-RED-07", f"{callback.what} must take two values of the component type of a {matrix}, and return one")
    machine, values = translation.machine, translation.values
    instances = machine.instances(matrix.scope)
    plan = schedule(translation.settings.mapping, matrix.rows, matrix.columns, machine.lanes // instances, mode)
    shape = _totals_shape(result, mode)

    def run() -> Value:
        some = machine.active_instances(matrix.scope)
        active = np.arange(instances) if some is None else some
        if isinstance(values[id_], Undefined):
            raise UndefinedUse("an undefined matrix is reduced")
        elements = values[id_][active].reshape(active.size, -1)
        totals = _totals(callback, plan, elements, matrix, active)
        whole = np.zeros((instances, result.rows, result.columns), result.number.dtype)
        whole[active] = totals.reshape(active.size, *shape)
        return whole

    return run


def _totals_shape(result: MatrixType, mode: int) -> tuple[int, int]:
    """Return the rows and columns of the distinct values of a result; its other values repeat them."""
    return {_ROW: (result.rows, 1), _COLUMN: (1, result.columns), _ROW | _COLUMN: (1, 1), _SQUARE: (result.rows, result.columns)}[mode]


def _totals(callback: Callback, plan: Schedule, elements: np.ndarray, matrix: MatrixType, active: np.ndarray) -> np.ndarray:
    """Return the combination of each group: (instances that execute, groups). ``elements`` has shape (instances that execute, elements)."""
    end = elements.shape[1]
    pool = np.empty((active.size, end + sum(left.size for left, _ in plan.steps)), matrix.number.dtype)
    pool[:, :end] = elements
    for left, right in plan.steps:
        lanes = Lanes(matrix.scope, np.repeat(active, left.size))
        made = callback.call(lanes, [pool[:, left].ravel(), pool[:, right].ravel()])
        if isinstance(made, Undefined):
            raise UndefinedUse(f"{callback.what} returns an undefined value")
        pool[:, end : end + left.size] = made.reshape(active.size, -1) if isinstance(made, np.ndarray) and made.ndim else made
        end += left.size
    found: np.ndarray = pool[:, plan.totals]
    return found
