"""Loads and stores by tensor addressing (CM2-LT-*, CM2-ST-*, CM2-CL-*, CM2-VW-*)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cts.reference.callbacks import BlockPointers, applied
from cts.reference.memory import Memory, part_of, stored
from cts.reference.state import State
from cts.reference.tensor import layout_state, view_state
from cts.reference.tensor_addressing import Addresses, addresses
from cts.reference.values import MatrixValue
from generators.errors import GeneratorError
from generators.numerics.formats import encode
from generators.program.functions import Function
from generators.program.tensor_access import POINTER_ALIGNMENT, TensorLoad, TensorStore, moved_matrix, unit_bytes
from generators.program.values import MatrixType


def addressed(state: State, operation: TensorLoad | TensorStore) -> Addresses:
    """Return what the operation's layout and view give."""
    store = isinstance(operation, TensorStore)
    type_ = moved_matrix(operation).type
    view = operation.view
    return addresses(
        type_.shape,
        operation.layout.type,
        layout_state(state, operation.layout),
        None if view is None else view.type,
        None if view is None else view_state(state, view),
        store,
        state.undefined,
    )


@dataclass(frozen=True)
class Place:
    """Where a tensor is in its array.

    Attributes:
        start: byte of its first element, int64, (instances,).
        unit: bytes that addresses count.
    """

    start: np.ndarray
    unit: int


def place(state: State, operation: TensorLoad | TensorStore) -> Place:
    """Return where the operation's tensor is.

    Raises:
        GeneratorError: the pointer is not aligned.
    """
    array = operation.array
    start = state.scalar(operation.first).astype(np.int64) * array.pointee.bytes + array.start
    if (start % POINTER_ALIGNMENT).any():
        raise GeneratorError(f"the tensor at byte {int(start.max())} of {array.name} is not aligned to 16 bytes (CM2-LT-06); move it")
    return Place(start, unit_bytes(operation))


def _offsets(state: State, operation: TensorLoad | TensorStore, found: Addresses, at: Place) -> np.ndarray:
    """Return the byte offsets in the array, int64, (instances, rows, columns); for elements that are not accessed, the offset of the
    tensor's beginning.

    Raises:
        GeneratorError: an element is beyond the array.
    """
    array, unit = operation.array, unit_bytes(operation)
    memory = state.memories[array.owner.name]
    offsets = at.start[:, None, None] + found.index * at.unit
    inside = (offsets >= array.start) & (offsets + unit <= array.start + array.bytes)
    if not inside[found.accessed].all():
        end = int(offsets[found.accessed].max()) + unit
        memory.outside(f"an element of the tensor ends at byte {end} of {array.name}, which has {array.bytes}; make it longer")
    return offsets if memory.copies == 1 else np.asarray(offsets + state.copy_offsets(memory))


def tensor_load(state: State, operation: TensorLoad) -> None:
    """Move elements in memory; those out of bounds take the clamp value's low bits (F-TA-16), clipped ones keep what was there (CM2-VW-01).

    Raises:
        GeneratorError: see ``addresses``; or the clamp value has fewer bits than a component, or old elements have several values.
    """
    load_at(state, operation, addressed(state, operation), place(state, operation))


def load_at(state: State, operation: TensorLoad, found: Addresses, at: Place) -> None:
    """Load the elements at ``found`` of the tensor at ``at``."""
    type_ = operation.result.type
    offsets = _offsets(state, operation, found, at)
    bits = np.zeros(offsets.shape, type_.component.bits_dtype)
    computed = False
    if found.accessed.any():
        memory = state.memories[operation.array.owner.name]
        if operation.decode is None:
            bits[found.accessed] = memory.load(offsets[found.accessed], type_.component)
        else:
            bits[found.accessed] = _decoded(state, operation.decode, memory, offsets, found, type_)
            computed = type_.component.is_float
    if found.outside.any():
        if type_.component.bits > 32:
            raise GeneratorError(f"what of a {type_.component} the clamp value gives is not specified (F-TA-16); use 32 bits or fewer")
        mask = np.uint64((1 << type_.component.bits) - 1)
        value = (layout_state(state, operation.layout).clamp_value & mask).astype(type_.component.bits_dtype)
        bits = np.where(found.outside, value[:, None, None], bits)
    if found.clipped.any():
        before = state.matrices.get(operation.before.name)
        if before is None:
            raise GeneratorError(f"clipped elements of {operation.result.name} keep {operation.before.name}, which is undefined")
        if not before.is_certain:
            raise GeneratorError(f"clipped elements of {operation.result.name} keep values that are not proved exact; use exact data")
        bits, computed = np.where(found.clipped, before.bits, bits), computed or before.computed
    state.matrices[operation.result.name] = MatrixValue(type_.component, bits, computed)


def _decoded(state: State, function: Function, memory: Memory, offsets: np.ndarray, found: Addresses, type_: MatrixType) -> np.ndarray:
    """Return what the decode function gives for the accessed elements, of shape (count,): its pointer is to the element's block, its second
    and third parameters are the block's coordinates and those in the block (CM2-DEC-04, CM2-DEC-05). Elements that are clipped or take the
    clamp value do not depend on it (F-TA-17)."""
    at = found.accessed
    coordinates = [[values[at][:, i] for i in range(values.shape[-1])] for values in (found.block, found.within)]
    owners = np.broadcast_to(state.instances[:, None, None], at.shape)[at]
    result = applied(state, function, [BlockPointers(memory, offsets[at]), *coordinates], owners)
    return encode(type_.component, result)


def tensor_store(state: State, operation: TensorStore) -> None:
    """Write the elements that are neither clipped nor out of bounds, and nothing else.

    Raises:
        GeneratorError: see ``addresses``; or blocks have several elements, which then race (CM2-ST-03), or elements overlap.
    """
    store_at(state, operation, addressed(state, operation), place(state, operation))


def store_at(state: State, operation: TensorStore, found: Addresses, at: Place) -> None:
    """Store the elements to ``found`` of the tensor at ``at``."""
    if (layout_state(state, operation.layout).block_size > 1).any():
        raise GeneratorError(f"the store of {operation.matrix.name} has a block size above 1 (CM2-ST-03)")
    offsets = _offsets(state, operation, found, at)
    expectation = stored(state.matrices[operation.matrix.name].expectation(), "CM2-ST-01")
    written = found.accessed
    memory = state.memories[operation.array.owner.name]
    if written.all():
        memory.store(offsets, expectation, operation.matrix.name)
    elif written.any():
        memory.store(
            offsets[written].reshape(1, 1, -1),
            part_of(expectation, written, operation.matrix.name),
            operation.matrix.name,
            np.argwhere(written),
            written.shape,
        )
