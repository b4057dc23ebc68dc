"""Loads and stores by tensor addressing (CM2-LT-*, CM2-ST-*, CM2-CL-*, CM2-VW-*)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cts.reference.addressing import check_range
from cts.reference.decode import check_groups, decoded, decoded_by_groups, located, whole_groups
from cts.reference.memory import Memory, part_of, stored
from cts.reference.state import State, evaluates
from cts.reference.tensor import layout_state, view_state
from cts.reference.tensor_addressing import Addresses, addresses
from cts.reference.values import CERTAIN, Choice, MatrixValue
from cts.verdict.expected import Authority
from generators.errors import GeneratorError, Rule
from generators.program.tensor_access import POINTER_ALIGNMENT, TensorLoad, TensorStore, block_bytes, moved_matrix, unit_bytes

PARTIAL_GROUPS, OWN_STRUCT = "F-DV-2", "F-DV-1"
"""Positions that the vector decode function only gets whole groups, and a pointer that counts blocks in its own struct."""

_EITHER_FUNCTION = Authority("DV-SEM-01")


def addressed(state: State, operation: TensorLoad | TensorStore) -> Addresses:
    """Return the addresses from the operation's layout and view."""
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
    """The position of a tensor in its array.

    Attributes:
        start: byte offset of its first element, int64, (instances,).
        unit: unit of addresses in bytes.
        group_unit: unit of addresses in bytes for the vector decode function; 0 without one.
    """

    start: np.ndarray
    unit: int
    group_unit: int = 0


def place(state: State, operation: TensorLoad | TensorStore) -> Place:
    """Return the position of the operation's tensor.

    Raises:
        GeneratorError: the pointer is not aligned.
    """
    array = operation.array
    start = state.scalar(operation.first).astype(np.int64) * array.pointee.bytes + array.start
    if (start % POINTER_ALIGNMENT).any():
        raise GeneratorError(
            "CM2-LT-06", f"the tensor at byte {int(start.max())} of {array.name} is not aligned to 16 bytes (CM2-LT-06); move it"
        )
    groups = operation.decode_vector if isinstance(operation, TensorLoad) else None
    return Place(start, unit_bytes(operation), 0 if groups is None else block_bytes(groups))


def offsets_of(state: State, operation: TensorLoad | TensorStore, found: Addresses, at: Place, size: int) -> np.ndarray:
    """Return the byte offsets in the array, int64, (instances, rows, columns); for elements that are not accessed, the offset of the
    tensor's start.

    Args:
        size: number of bytes accessed for an element.

    Raises:
        GeneratorError: an element is beyond the array.
    """
    array, memory = operation.array, state.memories[operation.array.owner.name]
    offsets = at.start[:, None, None] + found.index * at.unit
    inside = (offsets >= array.start) & (offsets + size <= array.start + array.span)
    if not inside[found.accessed].all():
        end = int(offsets[found.accessed].max()) + size
        memory.outside(
            Rule.OUT_OF_BOUNDS, f"an element of the tensor ends at byte {end} of {array.name}, which has {array.span}; make it longer"
        )
    if found.accessed.any():
        check_range(memory, int(offsets[found.accessed].max()) + size, state.program.wide_indexing)
    if memory.copies > 1:
        return np.asarray(offsets + state.copy_offsets(memory))
    if array.windows is None:
        return np.asarray(offsets)
    return np.asarray(np.where(found.accessed, memory.held(np.where(found.accessed, offsets, array.windows.parts[0].first), size), 0))


@evaluates(TensorLoad)
def tensor_load(state: State, operation: TensorLoad) -> None:
    """Move elements in memory; elements out of bounds take the clamp value's low bits (F-TA-16), and clipped ones keep their previous
    values (CM2-VW-01).

    Raises:
        GeneratorError: see ``addresses``; or the clamp value has fewer bits than a component, or old elements have several values.
    """
    load_at(state, operation, addressed(state, operation), place(state, operation))


def load_at(state: State, operation: TensorLoad, found: Addresses, at: Place) -> None:
    """Load the elements at ``found`` of the tensor at ``at``."""
    type_ = operation.result.type
    offsets = offsets_of(state, operation, found, at, unit_bytes(operation))
    bits = np.zeros(offsets.shape, type_.component.bits_dtype)
    by_groups: np.ndarray | None = None
    by_scalar_struct: np.ndarray | None = None
    whole = np.ones(offsets.shape, bool)
    computed = False
    if found.accessed.any():
        memory = state.memories[operation.array.owner.name]
        if operation.decode is None:
            bits[found.accessed] = memory.load(offsets[found.accessed], type_.component)
        else:
            elements = located(state, memory, found)
            bits[found.accessed] = decoded(state, operation.decode, elements, offsets[found.accessed], type_.component)
            if operation.decode_vector is not None:
                check_groups(layout_state(state, operation.layout).block_size[:, -1], operation.decode_vector)
                group_at, size = replace(at, unit=at.group_unit), block_bytes(operation.decode_vector)
                places = offsets_of(state, operation, found, group_at, size)[found.accessed]
                groups = decoded_by_groups(state, operation.decode_vector, elements, places, type_.component)
                if (groups != bits[found.accessed]).any():
                    by_groups = bits.copy()
                    by_groups[found.accessed] = groups
                    whole[found.accessed] = whole_groups(elements, operation.decode_vector)
                if at.group_unit != at.unit and _holds(memory, operation, offsets[found.accessed] + size):
                    others = decoded_by_groups(state, operation.decode_vector, elements, offsets[found.accessed], type_.component)
                    by_scalar_struct = bits.copy()
                    by_scalar_struct[found.accessed] = others
            computed = type_.component.is_float
    if found.outside.any():
        if type_.component.bits > 32:
            raise GeneratorError(
                "F-TA-16",
                f"it is not specified which bits of a {type_.component} come from the clamp value (F-TA-16); use 32 bits or fewer",
            )
        mask = np.uint64((1 << type_.component.bits) - 1)
        value = (layout_state(state, operation.layout).clamp_value & mask).astype(type_.component.bits_dtype)
        bits = np.where(found.outside, value[:, None, None], bits)
        by_groups, by_scalar_struct = (None if one is None else np.where(found.outside, bits, one) for one in (by_groups, by_scalar_struct))
    if found.clipped.any():
        before = state.matrices.get(operation.before.name)
        if before is None:
            raise GeneratorError(
                Rule.UNDEFINED_VALUE, f"clipped elements of {operation.result.name} keep {operation.before.name}, which is undefined"
            )
        if not before.is_certain:
            raise GeneratorError(
                Rule.INEXACT, f"clipped elements of {operation.result.name} keep values that are not proved exact; use exact data"
            )
        bits, computed = np.where(found.clipped, before.bits, bits), computed or before.computed
        by_groups, by_scalar_struct = (None if one is None else np.where(found.clipped, bits, one) for one in (by_groups, by_scalar_struct))
    state.matrices[operation.result.name] = _either(MatrixValue(type_.component, bits, computed), by_groups, by_scalar_struct, whole)


def _holds(memory: Memory, operation: TensorLoad, ends: np.ndarray) -> bool:
    """Tell whether all blocks that end at these bytes are in the operation's array."""
    array = operation.array
    return array.windows is None and memory.copies == 1 and bool((ends <= array.start + array.span).all())


def _either(value: MatrixValue, by_groups: np.ndarray | None, by_scalar_struct: np.ndarray | None, whole: np.ndarray) -> MatrixValue:
    """Return a matrix whose elements may also be the results of the vector decode function (DV-SEM-01, DV-SEM-02).

    If the matrix has only a part of the element's group, such a result is permitted but not expected (F-DV-2), and so is the result for the
    pointer of the scalar function (F-DV-1).

    Args:
        by_groups: bits from the vector function; None if both functions agree on all elements.
        by_scalar_struct: bits from the vector function with that pointer; None if the structs have one size, or a block leaves the array.
        whole: whether the matrix has all of an element's group.
    """
    expected = value.bits if by_groups is None else np.where(whole, by_groups, value.bits)
    known = Choice((expected,)) if (expected != value.bits).any() else CERTAIN
    every = [one for one in (expected, by_groups, by_scalar_struct) if one is not None and (one != value.bits).any()]
    if not every:
        return value
    quality = ""
    if by_groups is not None and (expected != by_groups).any():
        quality = PARTIAL_GROUPS
    if by_scalar_struct is not None and not ((by_scalar_struct == value.bits) | (by_scalar_struct == expected)).all():
        quality = OWN_STRUCT
    permitted = Choice(tuple(every)) if quality else None
    return replace(value, known=known, permitted=permitted, authority=replace(_EITHER_FUNCTION, quality=quality))


@evaluates(TensorStore)
def tensor_store(state: State, operation: TensorStore) -> None:
    """Write the elements that are neither clipped nor out of bounds, and nothing else.

    Raises:
        GeneratorError: see ``addresses``; or blocks have several elements, which then race (CM2-ST-03), or elements overlap.
    """
    store_at(state, operation, addressed(state, operation), place(state, operation))


def store_at(state: State, operation: TensorStore, found: Addresses, at: Place) -> None:
    """Store the elements to ``found`` of the tensor at ``at``."""
    if (layout_state(state, operation.layout).block_size > 1).any():
        raise GeneratorError("CM2-ST-03", f"the store of {operation.matrix.name} has a block size above 1 (CM2-ST-03)")
    offsets = offsets_of(state, operation, found, at, unit_bytes(operation))
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
