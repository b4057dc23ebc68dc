"""Loads and stores by tensor addressing (CM2-LT-*, CM2-ST-*, CM2-CL-*, CM2-VW-*)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cts.expected import Allowed
from cts.reference.state import State
from cts.reference.tensor import layout_state, view_state
from cts.reference.tensor_addressing import Addresses, addresses
from cts.reference.values import MatrixValue
from generators.errors import GeneratorError
from generators.program.tensor_access import POINTER_ALIGNMENT, TensorLoad, TensorStore
from generators.program.values import MatrixType


def addressed(state: State, operation: TensorLoad | TensorStore) -> Addresses:
    """What the operation's layout and view give."""
    store = isinstance(operation, TensorStore)
    type_ = operation.matrix.type if isinstance(operation, TensorStore) else operation.result.type
    view = operation.view
    return addresses(
        type_.shape,
        operation.layout.type,
        layout_state(state, operation.layout),
        None if view is None else view.type,
        None if view is None else view_state(state, view),
        store,
    )


def _offsets(state: State, operation: TensorLoad | TensorStore, type_: MatrixType, found: Addresses) -> np.ndarray:
    """Byte offsets in the array, int64, (instances, rows, columns); of elements that are not accessed those of the tensor's beginning.

    Raises:
        GeneratorError: the pointer is not aligned, or an element lies beyond the array.
    """
    array = operation.array
    memory = state.memories[array.name]
    start = state.scalar(operation.first).astype(np.int64) * array.pointee.bytes
    if (start % POINTER_ALIGNMENT).any():
        raise GeneratorError(f"the tensor at byte {int(start.max())} of {array.name} is not aligned to 16 bytes (CM2-LT-06); move it")
    offsets = start[:, None, None] + found.index * type_.component.bytes
    inside = (offsets >= 0) & (offsets + type_.component.bytes <= array.bytes)
    if not inside[found.accessed].all():
        end = int(offsets[found.accessed].max()) + type_.component.bytes
        raise GeneratorError(f"an element of the tensor ends at byte {end} of {array.name}, which has {array.bytes}; make it longer")
    return offsets if memory.copies == 1 else np.asarray(offsets + state.copy_offsets(memory))


def tensor_load(state: State, operation: TensorLoad) -> None:
    """Elements in memory are moved, those out of bounds take the clamp value's low bits (F-TA-16), clipped ones keep what was there
    (CM2-VW-01).

    Raises:
        GeneratorError: see ``addresses``; or the clamp value has fewer bits than a component, or old elements have several values.
    """
    found, type_ = addressed(state, operation), operation.result.type
    offsets = _offsets(state, operation, type_, found)
    bits = np.zeros(offsets.shape, type_.component.bits_dtype)
    computed = False
    if found.accessed.any():
        bits[found.accessed] = state.memories[operation.array.name].load(offsets[found.accessed], type_.component)
    if found.outside.any():
        if type_.component.bits > 32:
            raise GeneratorError(f"what of a {type_.component} the clamp value gives is not specified (F-TA-16); use 32 bits or fewer")
        mask = np.uint64((1 << type_.component.bits) - 1)
        value = (layout_state(state, operation.layout).clamp_value & mask).astype(type_.component.bits_dtype)
        bits = np.where(found.outside, value[:, None, None], bits)
    if found.clipped.any():
        before = state.matrices.get(operation.before.name)
        if before is None:
            raise GeneratorError(f"clipped elements of {operation.result.name} keep those of {operation.before.name}, which are undefined")
        if before.choice is not None or before.envelope is not None:
            raise GeneratorError(f"clipped elements of {operation.result.name} keep values that are not proved exact; use exact data")
        bits, computed = np.where(found.clipped, before.bits, bits), before.computed
    state.matrices[operation.result.name] = MatrixValue(type_.component, bits, computed)


def tensor_store(state: State, operation: TensorStore) -> None:
    """Writes the elements that are neither clipped nor out of bounds, and nothing else.

    Raises:
        GeneratorError: see ``addresses``; or blocks have several elements, which then race (CM2-ST-03), or elements overlap.
    """
    found, type_ = addressed(state, operation), operation.matrix.type
    if (layout_state(state, operation.layout).block_size > 1).any():
        raise GeneratorError(f"the store of {operation.matrix.name} has a block size above 1 (CM2-ST-03)")
    offsets = _offsets(state, operation, type_, found)
    allowed = state.matrices[operation.matrix.name].allowed()
    written = found.accessed
    memory = state.memories[operation.array.name]
    if written.all():
        memory.store(offsets, allowed, operation.matrix.name)
    elif written.any():
        if allowed.kind != "exact":
            raise GeneratorError(f"the store of {operation.matrix.name} in part has more than one allowed value; use exact data")
        nan = allowed.nan[written].reshape(1, 1, -1) if isinstance(allowed.nan, np.ndarray) else allowed.nan
        kept: Allowed = replace(allowed, bits=allowed.bits[written].reshape(1, 1, -1), nan=nan, proof=None)
        memory.store(offsets[written].reshape(1, 1, -1), kept, operation.matrix.name, np.argwhere(written), written.shape)
