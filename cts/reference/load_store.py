"""Matrix loads and stores (KHR-LOAD-*, KHR-STORE-*, facts.md C16)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cts.reference.addressing import check_range, element_offsets, leaving
from cts.reference.float_controls import moved
from cts.reference.memory import part_of, stored
from cts.reference.state import State, evaluates
from cts.reference.values import Choice, MatrixValue
from cts.verdict.expected import Authority
from generators.errors import GeneratorError, Rule
from generators.program.load_store import MatrixLoad, MatrixStore, layout_value
from generators.program.memory import Array
from generators.program.values import MatrixType
from generators.types import Layout, StorageClass

_BOUNDS_CHECKED = Authority("KHR-MEM-02", quality="F-KHR-38")


@dataclass(frozen=True)
class Place:
    """The address of a load or store: ``first`` and ``stride`` for each scope instance, in elements of ``array``."""

    array: Array
    first: Sequence[int]
    stride: Sequence[int]
    layout: Layout


def place(state: State, operation: MatrixLoad | MatrixStore) -> Place:
    """Return the place that the operands address."""
    first, stride = state.scalar(operation.first), state.scalar(operation.stride)
    return Place(operation.array, first.tolist(), stride.tolist(), layout_value(operation.layout))


def _offsets(state: State, at: Place, type_: MatrixType, bounded: bool = True) -> np.ndarray:
    offsets = element_offsets(at.array, type_.component, type_.shape, at.first, at.stride, at.layout, bounded)
    memory = state.memories[at.array.owner.name]
    if memory.copies > 1:
        return np.asarray(offsets + state.copy_offsets(memory))
    if offsets.size:
        check_range(memory, int(offsets.max()) + type_.component.bytes, state.program.wide_indexing)
    return memory.held(offsets, type_.component.bytes)


def _robust_offsets(state: State, at: Place, type_: MatrixType) -> tuple[np.ndarray, np.ndarray]:
    """Return offsets, and which of them are in the range of the buffer. With robustBufferAccess2, loads beyond the range return zero and
    stores beyond it have no effect (Vulkan, "Robust Buffer Access 2"; facts.md D.5: matrix accesses only with
    cooperativeMatrixRobustBufferAccess).

    Raises:
        GeneratorError: no descriptor bounds the array.
    """
    if at.array.storage is not StorageClass.STORAGE_BUFFER:
        raise GeneratorError(
            Rule.NOT_BOUNDS_CHECKED, f"accesses to {at.array.name} are not bounds-checked: only buffers of descriptors are"
        )
    offsets = _offsets(state, at, type_, bounded=False)
    return offsets, (offsets >= 0) & (offsets + type_.component.bytes <= at.array.owner.bytes)


def _cut(inside: np.ndarray) -> np.ndarray:
    """Return which elements in the range belong to matrices that are partly outside it. A device may check any part of a matrix at
    once, and an access is out of bounds if any part of it is (F-KHR-38)."""
    return np.asarray(inside & ~inside.all(axis=(1, 2), keepdims=True))


def load_from(state: State, operation: MatrixLoad, at: Place) -> None:
    """Load the elements at ``at``."""
    type_ = operation.result.type
    memory = state.memories[at.array.owner.name]
    if operation.robust:
        offsets, inside = _robust_offsets(state, at, type_)
        found = memory.load(np.where(inside, offsets, 0), type_.component)
        zero = type_.component.bits_dtype.type(0)
        bits = np.where(inside, found, zero)
        cut = _cut(inside)
        if cut.any():
            permitted = Choice((np.where(cut, zero, bits),))
            value = MatrixValue(type_.component, bits, authority=_BOUNDS_CHECKED, permitted=permitted)
            state.matrices[operation.result.name] = moved(state, value)
            return
    else:
        if message := leaving(at.array, type_.component, type_.shape, at.first, at.stride, at.layout):
            memory.outside(Rule.OUT_OF_BOUNDS, message)
        bits = memory.load(_offsets(state, at, type_, bounded=False), type_.component)
    state.matrices[operation.result.name] = moved(state, MatrixValue(type_.component, bits))


def store_to(state: State, operation: MatrixStore, at: Place) -> None:
    """Store the elements to ``at``."""
    expectation = stored(state.matrices[operation.matrix.name].expectation(), "KHR-STORE-01")
    memory = state.memories[at.array.owner.name]
    what = operation.matrix.name
    if len(state.instances) < state.program.instances:
        what += f" (of instances {', '.join(str(instance) for instance in state.instances)})"
    if not operation.robust:
        memory.store(_offsets(state, at, operation.matrix.type), expectation, what)
        return
    offsets, inside = _robust_offsets(state, at, operation.matrix.type)
    if not inside.any():
        return
    if inside.all():
        memory.store(offsets, expectation, what)
        return
    kept = part_of(expectation, inside, operation.matrix.name)
    if (cut := _cut(inside)).any():
        kept = replace(kept, authority=_BOUNDS_CHECKED, may_be_dropped=cut[inside].reshape(1, 1, -1))
    memory.store(offsets[inside].reshape(1, 1, -1), kept, f"{what}, its elements in bounds")


@evaluates(MatrixLoad)
def load(state: State, operation: MatrixLoad) -> None:
    """Load a matrix. A stride of 0 repeats one row or column (KHR-LOAD-05)."""
    load_from(state, operation, place(state, operation))


@evaluates(MatrixStore)
def store(state: State, operation: MatrixStore) -> None:
    """Write each element to its address and nothing else (KHR-STORE-01).

    Raises:
        GeneratorError: the stride is 0 (KHR-STORE-02), or elements overlap (F-KHR-1).
    """
    at = place(state, operation)
    if 0 in at.stride:
        raise GeneratorError(
            "KHR-STORE-02", f"the store of {operation.matrix.name} has stride 0; a store needs a stride above 0 (KHR-STORE-02)"
        )
    store_to(state, operation, at)
