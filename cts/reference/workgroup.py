"""Data passed between invocations through memory: copies, barriers, and the last workgroup."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cts.reference.state import State, evaluates
from cts.verdict.expected import Exact, one_set
from generators.errors import GeneratorError, Rule
from generators.program.memory import Array
from generators.program.values import ScalarValue
from generators.program.workgroup import Barrier, Copied, LastWorkgroupRan, PartCopied
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
