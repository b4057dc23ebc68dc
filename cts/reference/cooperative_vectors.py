"""Cooperative vectors of single invocations: loads and stores, and components at a run-time index (CV-LD-*, CV-ST-*, CV-COMP-*).

The value of a vector in the model is a MatrixValue of one row: (invocations, 1, components).
"""

from __future__ import annotations

import numpy as np

from cts.reference.components import extracted, inserted
from cts.reference.construction import check_component
from cts.reference.memory import Memory, stored
from cts.reference.state import State, evaluates
from cts.reference.values import MatrixValue, reshaped
from cts.reference.vector_moves import accessed, kept
from generators.errors import GeneratorError, Rule
from generators.program.cooperative_vectors import (
    VECTOR_ALIGNMENT,
    CooperativeVectorExtract,
    CooperativeVectorInsert,
    CooperativeVectorLoad,
    CooperativeVectorStore,
    VectorComponentsStored,
)
from generators.program.memory import Array
from generators.program.values import CooperativeVectorType, ScalarValue


def byte_offsets(
    state: State, array: Array, offset: ScalarValue, alignment: int, what: str, inner: ScalarValue | None = None
) -> np.ndarray:
    """Return the byte offset, from the start of ``array``, of an object that an instruction addresses: int64, (invocations,).

    The offset counts bytes, whatever the array's pointee and ArrayStride are (CV-LD-01 to CV-LD-03).

    Args:
        alignment: the required alignment of each offset, in bytes.
        what: names the object in messages.
        inner: the inner array that the pointer leads to, if there is one.

    Raises:
        GeneratorError: an offset is not aligned, or negative.
    """
    bits = state.scalar(offset)
    signed = offset.type.is_signed and bool((bits >> np.uint64(offset.type.bits - 1)).any())
    if signed:
        raise GeneratorError(Rule.NEGATIVE_OFFSET, f"{what} is at a negative byte of array {array.name}; give an offset of 0 or more")
    if (bits % np.uint64(alignment)).any():
        raise GeneratorError(Rule.MISALIGNED, f"{what} is at a byte of array {array.name} that is not a multiple of {alignment}; align it")
    found: np.ndarray = bits.astype(np.int64) + starts(state, array, inner)
    return found


def starts(state: State, array: Array, inner: ScalarValue | None) -> np.ndarray:
    """Return the byte offset of the array that each invocation's pointer leads to, from the start of ``array``: int64, (invocations,)."""
    if array.inner is None or inner is None:
        return np.zeros(len(state.instances), np.int64)
    outer = state.scalar(inner).astype(np.int64)
    found: np.ndarray = (outer * array.inner.pitch + array.inner.head) * array.pointee.bytes
    return found


def check_inside(memory: Memory, ends: np.ndarray, what: str) -> None:
    """Refuse objects that exceed their array.

    Args:
        ends: the byte after the last one of each, from the start of the array.
        what: names the object in messages.

    Raises:
        GeneratorError: an end is beyond the array's.
    """
    if ends.size and ends.max() > memory.array.span:
        array = memory.array
        memory.outside(
            Rule.OUT_OF_BOUNDS,
            f"{what} ends at byte {int(ends.max())} of array {array.name}, which has {array.span}; make the array longer",
        )


def _elements(
    state: State, type_: CooperativeVectorType, access: CooperativeVectorLoad | CooperativeVectorStore, name: str
) -> tuple[Memory, np.ndarray]:
    """Return the memory and the byte offset of each component in it, int64, (invocations, 1, components).

    Raises:
        GeneratorError: they leave the array, or the array has matrices in a layout that the device chooses.
    """
    array = access.array
    if array.opaque is not None:
        raise GeneratorError(
            Rule.OPAQUE, f"vector {name} is in {array.name}, whose bytes the device decides; use an array without opaque matrices"
        )
    memory = state.memories[array.name]
    first = byte_offsets(state, array, access.offset, VECTOR_ALIGNMENT, f"vector {name}", access.inner)
    check_inside(memory, first + type_.bytes, f"vector {name}")
    if memory.copies > 1:
        first = first + state.copies(memory)
    return memory, first[:, None, None] + np.arange(type_.count, dtype=np.int64) * type_.component.bytes


@evaluates(CooperativeVectorLoad)
def load(state: State, operation: CooperativeVectorLoad) -> None:
    """Load consecutive components, starting at a byte offset (CV-LD-01)."""
    type_ = operation.result.type
    memory, offsets = _elements(state, type_, operation, operation.result.name)
    value = MatrixValue(type_.component, memory.load(offsets, type_.component))
    state.matrices[operation.result.name] = accessed(state, value, "CV-LD-01", loaded=True)


@evaluates(CooperativeVectorStore)
def store(state: State, operation: CooperativeVectorStore) -> None:
    """Write the components, and nothing after them (CV-ST-01).

    Raises:
        GeneratorError: it leaves the array, or vectors of two invocations overlap.
    """
    vector = operation.vector
    memory, offsets = _elements(state, vector.type, operation, vector.name)
    store_rows(state, memory, accessed(state, state.matrices[vector.name], "CV-ST-01"), offsets, vector.name)


@evaluates(VectorComponentsStored)
def components_stored(state: State, operation: VectorComponentsStored) -> None:
    """Write each component to an element of its own, which preserves its bits (CV-COMP-01).

    Raises:
        GeneratorError: an element is of another type, or beyond the array.
    """
    vector, array = operation.vector, operation.array
    if array.pointee.component is not vector.type.component or array.pointee.lanes != 1:
        raise GeneratorError(
            Rule.TYPES_DIFFER, f"components of {vector.name} are stored to {array.name}, whose elements have another type; use one type"
        )
    memory = state.memories[array.name]
    first = state.scalar(operation.first).astype(np.int64) * array.pointee.bytes
    check_inside(memory, first + vector.type.bytes, f"vector {vector.name}")
    if memory.copies > 1:
        first = first + state.copies(memory)
    offsets = first[:, None, None] + np.arange(vector.type.count, dtype=np.int64) * array.pointee.bytes
    store_rows(state, memory, state.matrices[vector.name], offsets, vector.name, "CV-COMP-01")


def store_rows(state: State, memory: Memory, value: MatrixValue, offsets: np.ndarray, name: str, requirement: str = "CV-ST-01") -> None:
    """Write a vector of each invocation; ``offsets`` are the offsets of its components, (invocations, 1, components). Values that were only
    moved depend on ``requirement``."""
    lanes = state.instances
    expectation = stored(value.expectation(), requirement)
    if np.array_equal(lanes, np.arange(len(lanes))):
        memory.store(offsets, expectation, name)
        return
    # Only some invocations store, so each element names its invocation.
    count = offsets.shape[2]
    cells = np.stack([np.repeat(lanes, count), np.zeros(lanes.size * count, np.int64), np.tile(np.arange(count), lanes.size)], axis=-1)
    row = stored(reshaped(value, (1, 1, -1)).expectation(), requirement)
    memory.store(offsets.reshape(1, 1, -1), row, name, cells, (int(lanes.max()) + 1, 1, count))


@evaluates(CooperativeVectorExtract)
def extract(state: State, operation: CooperativeVectorExtract) -> None:
    """Take the component that each invocation's index names (CV-COMP-02).

    Raises:
        GeneratorError: there is no such component, or it has several allowed values.
    """
    at = state.scalar(operation.index).astype(np.int64)
    state.scalars[operation.result.name] = extracted(state.matrices[operation.vector.name], at)


@evaluates(CooperativeVectorInsert)
def insert(state: State, operation: CooperativeVectorInsert) -> None:
    """Replace the component that each invocation's index names, and leave the original vector unchanged (CV-COMP-02).

    Raises:
        GeneratorError: there is no such component, or the vector has a range of allowed values.
    """
    check_component(operation.result, operation.part)
    at = state.scalar(operation.index).astype(np.int64)
    made = inserted(state.matrices[operation.vector.name], at, state.scalar(operation.part))
    state.matrices[operation.result.name] = kept(state, made)
