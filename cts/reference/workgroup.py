"""Data passed between invocations through memory: copies, also of tiles, barriers, and the last workgroup. Beyond the limits of a tile,
reads give zero and writes have no effect."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cts.reference.state import State, evaluates
from cts.verdict.expected import Exact, one_set
from generators.errors import GeneratorError, Rule
from generators.program.memory import Array
from generators.program.values import ScalarValue
from generators.program.workgroup import Barrier, Copied, LastWorkgroupRan, NothingStale, PartCopied, TileCopied, Window
from generators.types import Scope


@evaluates(Copied)
def copied(state: State, operation: Copied) -> None:
    """Copy every element of the source, to the same place in the target, or in reverse order.

    Raises:
        GeneratorError: not all invocations execute it, so some elements are not copied.
    """
    if len(state.instances) < state.program.instances:
        raise GeneratorError(Rule.PARTIAL_COPY, f"only some scope instances copy to {operation.target.name}; copy outside of branches")
    state.memories[operation.target.name].copy_from(state.memories[operation.source.name], operation.backwards)


@evaluates(PartCopied)
def part_copied(state: State, operation: PartCopied) -> None:
    """Copy the elements of each executing subgroup.

    Raises:
        GeneratorError: the pointees differ, an element is beyond an array, or scope instances are not subgroups.
    """
    target, source = operation.target, operation.source
    if state.program.scope is not Scope.SUBGROUP or target.pointee != source.pointee:
        raise GeneratorError(
            Rule.COPY_ARRAYS,
            f"a subgroup copies parts of {source.name} to {target.name}: both need one pointee, and matrices need subgroup scope",
        )
    component = target.pointee.component
    numbers = np.arange(operation.count)
    found = _elements(state, source, operation.source_first, numbers[::-1] if operation.backwards else numbers)
    bits = state.memories[source.name].load(found, component)
    places = _elements(state, target, operation.target_first, numbers)
    state.memories[target.name].write(places, component, bits, f"the copy of {source.name}")


def _elements(state: State, array: Array, first: ScalarValue, numbers: np.ndarray) -> np.ndarray:
    """Return the byte offsets of components, (instances, elements, lanes of the pointee)."""
    index = state.scalar(first).astype(np.int64)[:, None] + numbers
    if (index >= array.count).any():
        raise GeneratorError(Rule.OUT_OF_BOUNDS, f"{array.name} has no element {int(index.max())}; make it longer")
    memory = state.memories[array.name]
    lanes = np.arange(array.pointee.lanes) * array.pointee.component.bytes
    offsets = (index * array.pointee.bytes)[:, :, None] + lanes
    return np.asarray(offsets + state.copy_offsets(memory) if memory.copies > 1 else offsets)


@evaluates(Barrier)
def barrier(state: State, operation: Barrier) -> None:
    """Do nothing: the model executes every operation in all invocations before the next. Only a device can reveal missing barriers."""


@evaluates(LastWorkgroupRan)
def last_workgroup_ran(state: State, operation: LastWorkgroupRan) -> None:
    """Run the body in the scope instances of one workgroup, once the counter has counted every workgroup.

    Raises:
        GeneratorError: the counter does not start at 0.
    """
    counter, program = operation.counter.pointee.component, state.program
    memory = state.memories[operation.counter.name]
    place = np.zeros((1, 1, 1), np.int64)
    if memory.load(place, counter).any():
        raise GeneratorError(Rule.COUNTER_START, f"{operation.counter.name} counts workgroups, so it must start with 0")
    count = np.full((1, 1, 1), program.workgroup_count, counter.bits_dtype)
    memory.store(place, one_set(Exact(counter, count)), "the count of workgroups")
    instances = state.instances
    state.program = replace(program, workgroups=(1, 1, 1))
    state.instances = np.arange(state.program.instances, dtype=np.int64)
    state.run(operation.body)
    state.program, state.instances = program, instances


@evaluates(NothingStale)
def nothing_stale(state: State, operation: NothingStale) -> None:
    """Write zeros to every component of the counts."""
    for array in operation.counts:
        component = array.pointee.component
        places = np.arange(array.count, dtype=np.int64)[None, None, :] * component.bytes
        zeros = one_set(Exact(component, np.zeros(places.shape, component.bits_dtype)))
        state.memories[array.name].store(places, zeros, "the count of stale reads")


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
