"""Tiles that all invocations of a workgroup copy together: elements move; beyond the limits, reads give zero and writes have no effect."""

from __future__ import annotations

import numpy as np

from cts.reference.state import State, evaluates
from cts.verdict.expected import Exact, one_set
from generators.errors import GeneratorError, Rule
from generators.program.tile_copy import TileCopied, Window
from generators.program.values import ScalarValue
from generators.types import Scope


@evaluates(TileCopied)
def tile_copied(state: State, operation: TileCopied) -> None:
    """Copy every element of the tile in every workgroup.

    Raises:
        GeneratorError: not all invocations execute it, its numbers differ in a workgroup, the arrays are not of one scalar type, or an
            element is beyond an array.
    """
    if len(state.instances) < state.program.instances:
        raise GeneratorError(
            Rule.PARTIAL_COPY, f"only some scope instances copy a tile to {operation.target.array.name}; copy outside of branches"
        )
    source, target = operation.source, operation.target
    pointee = source.array.pointee
    if pointee != target.array.pointee or pointee.lanes != 1:
        raise GeneratorError(Rule.COPY_ARRAYS, f"tiles of {source.array.name} and {target.array.name} need one scalar pointee")
    row, column = np.meshgrid(np.arange(operation.rows), np.arange(operation.columns), indexing="ij")
    there, found = _places(state, source, row, column)
    written, places = _places(state, target, *((column, row) if operation.transposed else (row, column)))
    component = pointee.component
    bits = np.zeros(there.shape, component.bits_dtype)
    read = there & written
    bits[read] = state.memories[source.array.name].load(found[read], component)
    if not written.any():
        return
    whole = bool(written.all())
    kept = bits if whole else bits[written].reshape(1, 1, -1)
    offsets = places if whole else places[written].reshape(1, 1, -1)
    expectation = one_set(Exact(component, kept, either_zero=component.is_float))
    state.memories[target.array.name].store(offsets, expectation, f"the tile of {source.array.name}")


def _places(state: State, window: Window, row: np.ndarray, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which elements are inside the limits, and the byte offsets of all, (workgroups, …)."""
    array, memory = window.array, state.memories[window.array.name]
    y, x = _uniform(state, window.row) + row, _uniform(state, window.column) + column
    inside = np.ones(y.shape, bool)
    if window.limits is not None:
        rows, columns = (_uniform(state, limit) for limit in window.limits)
        inside = (y < rows) & (x < columns)
    index = y * _uniform(state, window.stride) + x
    if (index[inside] >= array.count).any():
        raise GeneratorError(
            Rule.TILE_BOUNDS, f"a tile reaches element {int(index[inside].max())} of {array.name}, which has {array.count}; set limits"
        )
    offsets = np.where(inside, index, 0) * array.pointee.bytes
    if memory.copies > 1:
        offsets = offsets + (np.arange(len(y)) * array.bytes)[:, None, None]
    return inside, np.asarray(offsets)


def _uniform(state: State, value: ScalarValue) -> np.ndarray:
    """Return a number of each workgroup, int64, (workgroups, 1, 1)."""
    each = state.program.subgroups if state.program.scope is Scope.SUBGROUP else 1
    numbers = state.scalar(value).astype(np.int64).reshape(-1, each)
    if (numbers != numbers[:, :1]).any():
        raise GeneratorError(
            Rule.NOT_UNIFORM, "a number of a tile copy differs within a workgroup; compute it from values of the workgroup"
        )
    return np.asarray(numbers[:, 0, None, None])
