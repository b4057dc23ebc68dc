"""Single elements of arrays in memory, one for each scope instance or lane."""

from __future__ import annotations

from typing import Any

import numpy as np

from cts.reference.state import State, evaluates
from cts.reference.variables import define, value_of
from cts.verdict.expected import NO_AUTHORITY, Exact, one_set
from generators.errors import GeneratorError, Rule
from generators.program.arrays import ArrayLoad, ArrayStore, AtomicAdd, AtomicOr


@evaluates(ArrayLoad)
def array_load(state: State, operation: ArrayLoad) -> None:
    """Load the element at the index.

    Raises:
        GeneratorError: it is outside the array.
    """
    component = operation.array.pointee.component
    offsets = _offsets(state, operation)
    bits = state.memories[operation.array.owner.name].load(offsets, component).astype(np.uint64)
    parts = tuple(np.ascontiguousarray(part) for part in bits.T)
    define(state, operation.result.name, parts[0] if len(parts) == 1 else parts)


@evaluates(ArrayStore)
def array_store(state: State, operation: ArrayStore) -> None:
    """Store the value to the element at the index.

    Raises:
        GeneratorError: it is outside the array, or elements are stored twice.
    """
    component, offsets, value = operation.array.pointee.component, _offsets(state, operation), value_of(state, operation.value)
    lanes: list[Any] = list(value) if isinstance(value, tuple) else [value]
    bits = np.stack(lanes, axis=-1).astype(component.bits_dtype)
    state.memories[operation.array.owner.name].store(offsets[None], one_set(Exact(component, bits[None]), NO_AUTHORITY), "single elements")


@evaluates(AtomicAdd)
def atomic_add(state: State, operation: AtomicAdd) -> None:
    """Add every value; in a single scope instance or lane, the result is the previous element.

    Raises:
        GeneratorError: the index is outside the array, or several add and the result depends on the unspecified order.
    """
    component, offsets = operation.array.pointee.component, _offsets(state, operation)
    if len(offsets) > 1:
        raise GeneratorError(Rule.RACE, f"{operation.result.name}: several invocations add to {operation.array.name}, in an unknown order")
    memory = state.memories[operation.array.owner.name]
    before = memory.load(offsets, component)
    state.scalars[operation.result.name] = before[:, 0].astype(np.uint64)
    after = before + state.scalar(operation.value).astype(component.bits_dtype)[:, None]
    memory.store(offsets[None], one_set(Exact(component, after[None]), NO_AUTHORITY), "single elements")


@evaluates(AtomicOr)
def atomic_or(state: State, operation: AtomicOr) -> None:
    """Combine the bits of every scope instance or lane with the bits of its element; several may name one element.

    Raises:
        GeneratorError: the index is outside the array, the element has no known previous value, or several name one element and its
            previous value is a result, which depends on the unspecified order.
    """
    component = operation.array.pointee.component
    places, owner = np.unique(_offsets(state, operation)[:, 0], return_inverse=True)
    memory = state.memories[operation.array.owner.name]
    after = memory.load(places, component)
    if operation.result is not None:
        if len(places) < len(owner):
            name = operation.array.name
            raise GeneratorError(
                Rule.RACE, f"{operation.result.name}: several invocations change one element of {name}, in an unknown order"
            )
        state.scalars[operation.result.name] = after[owner].astype(np.uint64)
    bits = np.broadcast_to(state.scalar(operation.value), owner.shape).astype(component.bits_dtype)
    np.bitwise_or.at(after, owner, bits)
    memory.write(places[None, :, None], component, after[None, :, None], "single elements")


def _offsets(state: State, operation: ArrayLoad | ArrayStore | AtomicAdd | AtomicOr) -> np.ndarray:
    """Return the byte offsets of the element of each scope instance or lane, int64, (instances, lanes of the pointee)."""
    index, array = state.scalar(operation.index), operation.array
    if (index >= array.count).any():
        raise GeneratorError(Rule.OUT_OF_BOUNDS, f"{array.name} has no element {int(index.max())}; make it longer")
    memory, component = state.memories[array.owner.name], array.pointee.component
    offsets = index.astype(np.int64) * array.pointee.bytes + array.start
    if memory.copies > 1:
        offsets = offsets + state.copies(memory)
    return np.asarray(offsets[:, None] + np.arange(array.pointee.lanes) * component.bytes)
