"""Reads and writes scalars, vectors, arrays and structs as bytes, for all invocations at once."""

from __future__ import annotations

import numpy as np

from cts.embedded.diagnostics import UndefinedUse, Unsupported
from cts.embedded.instructions.memory.memory_operands import Access
from cts.embedded.machine.machine import Machine
from cts.embedded.machine.pointers import AddressPointer, BytePointer, Offset, Part
from cts.embedded.memory.memory import AddressSpace, Memory
from cts.embedded.memory.ordering import Manner
from cts.embedded.types.spirv_types import (
    Array,
    Bool,
    Number,
    PointerType,
    StridedVector,
    Struct,
    Type,
    Vector,
    constituent_count,
    number,
    size_of,
    stored_constituent,
)
from cts.embedded.types.values import UNDEFINED, Mask, Partly, Undefined, Value, blend, expand, partly, settle, wide, with_defined
from generators.kernel import StrayWrite, Where

_U64 = number("u64")

SCALAR_ALIGNMENT = "Vulkan, Offset and Stride Assignment: scalar alignment"
CALLBACK_STORE = "a function that is called for elements writes memory, but it is not specified how often and in which order it is called"


def member_offset(type_: Type, index: int) -> int:
    """Return the byte offset of constituent ``index`` in a composite."""
    match type_:
        case StridedVector():
            return index * type_.stride
        case Vector():
            return index * size_of(type_.element)
        case Array():
            return index * type_.stride
        case Struct():
            return type_.offsets[index]
        case _:
            raise Unsupported(f"memory of {type_}")


def load(machine: Machine, pointer: BytePointer, type_: Type, access: Access, space: AddressSpace) -> Value:
    """Return the value at ``pointer``.

    Raises:
        Violation: the access is undefined.
    """
    _check_alignment(machine, pointer, access.alignment)
    return _load(machine, pointer, type_, access.manner, space)


def store(machine: Machine, pointer: BytePointer, type_: Type, value: Value, access: Access) -> None:
    """Write ``value`` to ``pointer``.

    Raises:
        Violation: the access is undefined.
    """
    if machine.callback and machine.element_accesses is None:
        machine.forbid("F-CM2-10", CALLBACK_STORE)
    if not pointer.memory.check_writable():
        pointer.memory.stray.append(_stray(pointer.memory, pointer.offset, size_of(type_), "read-only"))
        return
    _check_alignment(machine, pointer, access.alignment)
    _store(machine, pointer, type_, value, access.manner)


def load_parts(machine: Machine, pointer: Value, type_: Type, access: Access, space: AddressSpace) -> Value:
    """Return the values at a pointer that may point into a different memory for each invocation; see ``load``."""
    if pointer.__class__ is BytePointer:
        return load(machine, pointer, type_, access, space)
    parts: list[Part] = pointer.parts(machine)
    if len(parts) == 1:
        return load(machine, parts[0][0], type_, access, space)
    result: Value = UNDEFINED
    for place, mask in parts:
        with machine.only(mask):
            result = blend(type_, mask, load(machine, place, type_, access, space), result)
    return settle(result, machine.mask)


def store_parts(machine: Machine, pointer: Value, type_: Type, value: Value, access: Access) -> None:
    """Write to a pointer that may point into a different memory for each invocation; see ``store``."""
    if pointer.__class__ is BytePointer:
        store(machine, pointer, type_, value, access)
        return
    parts: list[Part] = pointer.parts(machine)
    for place, mask in parts:
        if len(parts) == 1:
            store(machine, place, type_, value, access)
            continue
        with machine.only(mask):
            store(machine, place, type_, value, access)


def _check_alignment(machine: Machine, pointer: BytePointer, alignment: int) -> None:
    if alignment > 1:
        misaligned = ((pointer.memory.base + pointer.offset) % alignment != 0) & machine.mask
        if misaligned.any():
            at = int(np.broadcast_to(pointer.offset, machine.lanes)[misaligned][0])
            forbid_promise(machine, pointer.memory, at, alignment, misaligned)


def forbid_promise(machine: Machine, memory: Memory, offset: int, alignment: int, where: Mask | None = None) -> None:
    """Report an access at byte ``offset`` of a memory that lacks the alignment its Memory Operands promise."""
    at = f"byte {offset} of '{memory.name}', address {memory.base + offset:#x}"
    text = f"{at}, is accessed with the promise of a multiple of {alignment} bytes"
    machine.forbid("SPIR-V 3.26 Aligned", text, where, cause=memory.name)


def _is_inside(memory: Memory, offset: np.ndarray, size: int, active: np.ndarray) -> bool:
    """Return whether all accesses of invocations are in the memory; report the first one that is not. See ``Memory.check_bounds``.

    Args:
        memory: the memory.
        offset: the byte at which each invocation accesses it.
        size: bytes of an access.
        active: ``offset`` of the invocations that execute.
    """
    # As unsigned numbers, negative offsets are beyond every memory.
    if memory.windows is None and int(np.maximum.reduce(active.view(np.uint64))) + size <= memory.size:
        return True
    outside = (active < 0) | (active + size > memory.size)
    first = int(active[outside][0]) if outside.any() else int(active.min())
    return memory.check_bounds(first, first + size, (offset < 0) | (offset + size > memory.size))


def _load(machine: Machine, pointer: BytePointer, type_: Type, manner: Manner, space: AddressSpace) -> Value:
    if isinstance(type_, Number):
        return load_number(machine, pointer.memory, pointer.offset, type_, manner)
    if isinstance(type_, Bool):
        value = load_number(machine, pointer.memory, pointer.offset, number("u8"), manner)
        if isinstance(value, Partly):
            return Partly(value.value != 0, value.defined)
        return value if value is UNDEFINED else value != 0
    if isinstance(type_, PointerType):
        return AddressPointer(space, wide(load_number(machine, pointer.memory, pointer.offset, _U64, manner)))
    return tuple(
        _load(machine, pointer.moved(member_offset(type_, i)), stored_constituent(type_, i), manner, space)
        for i in range(constituent_count(type_))
    )


def _store(machine: Machine, pointer: BytePointer, type_: Type, value: Value, manner: Manner) -> None:
    if isinstance(type_, Number | Bool | PointerType):
        if isinstance(value, Undefined):
            value = settle(value, machine.mask)
        if isinstance(value, Undefined):
            if pointer.memory.kind != "workgroup" or isinstance(type_, PointerType):
                raise UndefinedUse(f"an undefined value is stored to '{pointer.memory.name}'")
            _store_undefined(machine, pointer, number("u8") if isinstance(type_, Bool) else type_, value, manner)
            return
        if isinstance(type_, PointerType):
            address = value.address
            store_number(machine, pointer, _U64, address.astype(np.uint64) if isinstance(address, np.ndarray) else address, manner)
        elif isinstance(type_, Bool):
            byte = value.astype(np.uint8) if isinstance(value, np.ndarray) else int(value)
            store_number(machine, pointer, number("u8"), byte, manner)
        else:
            store_number(machine, pointer, type_, value, manner)
        return
    count = constituent_count(type_)
    for i, part in enumerate(expand(value, count)):
        _store(machine, pointer.moved(member_offset(type_, i)), stored_constituent(type_, i), part, manner)


def _store_undefined(machine: Machine, pointer: BytePointer, type_: Number, value: Undefined, manner: Manner) -> None:
    """Store an undefined value to workgroup memory, where it may stay undefined until it is used."""
    contents, defined = with_defined(value, (machine.lanes,), type_.dtype)
    store_number(machine, pointer, type_, contents.astype(type_.dtype), manner)
    unknown = machine.mask & ~defined
    offsets = np.broadcast_to(pointer.offset, machine.lanes)[unknown]
    places = (offsets[:, None] + np.arange(type_.bytes)).ravel()
    pointer.memory.undefine(places[(places >= 0) & (places < pointer.memory.size)])


def load_number(machine: Machine, memory: Memory, offset: Offset, type_: Number, manner: Manner) -> Value:
    """Return a number at byte ``offset``.

    Raises:
        Violation: out of bounds, misaligned, uninitialised, or a race.
    """
    size = type_.bytes
    if not isinstance(offset, np.ndarray):
        if not memory.check_bounds(offset, offset + size):
            return type_.dtype.type(0) if type_.is_float else 0
        if offset % size:
            forbid_misaligned(machine, memory, offset, size)
        place = slice(offset, offset + size)
        if machine.element_accesses is not None:
            machine.element_accesses.read(memory, place)
        if memory.traced:
            memory = memory.record_read(place, machine.clock.together(machine.mask, manner), machine.clock, manner)
        defined = memory.defined_at(place)
        if defined is not None:
            machine.uninitialised[machine.index] = memory.uninitialised(place, defined)
            return UNDEFINED
        raw = memory.data[place]
        return raw.view(type_.dtype)[0] if type_.is_float else int.from_bytes(raw.tobytes(), "little")
    active = offset if machine.full else offset[machine.mask]
    if not _is_inside(memory, offset, size, active):
        if memory.size < size:
            return np.zeros(machine.lanes, type_.dtype)
        active = np.clip(active, 0, max(memory.size - size, 0)) // size * size
    index = _indices(machine, memory, active, size)
    known: np.ndarray | None = None
    if memory.checked:
        places = active[:, None] + np.arange(size)
        if machine.element_accesses is not None:
            machine.element_accesses.read(memory, places)
        known = memory.defined_at(places)
        if known is not None:
            machine.uninitialised[machine.index] = memory.uninitialised(places, known)
        if memory.traced:
            records = machine.clock.lanes(manner)
            memory = memory.record_read(places, (records if machine.full else records[machine.mask])[:, None], machine.clock, manner)
    found = memory.view(type_.dtype)[index]
    if known is not None:
        return _partly_loaded(machine, found, np.logical_and.reduce(known, axis=1))
    if machine.full:
        return found
    result = np.zeros(machine.lanes, type_.dtype)
    result[machine.mask] = found
    return result


def _partly_loaded(machine: Machine, found: np.ndarray, defined: np.ndarray) -> Value:
    """Return the values that the active invocations read, undefined except where ``defined``."""
    result, known = np.zeros(machine.lanes, found.dtype), np.zeros(machine.lanes, bool)
    result[machine.mask], known[machine.mask] = found, defined
    return partly(result, known)


def store_number(machine: Machine, pointer: BytePointer, type_: Number, value: Value, manner: Manner) -> None:
    """Write a number.

    Raises:
        Violation: out of bounds, misaligned, or a race.
    """
    memory, offset, size = pointer.memory, pointer.offset, type_.bytes
    if not isinstance(offset, np.ndarray):
        offset = np.full(machine.lanes, offset, np.int64)
    active = offset if machine.full else offset[machine.mask]
    elements: np.ndarray | slice = slice(None) if machine.full else machine.mask.nonzero()[0]
    data = value
    if isinstance(value, np.ndarray):
        data = value if machine.full else value[machine.mask]
    if not _is_inside(memory, offset, size, active):
        outside = (active < 0) | (active + size > memory.size)
        memory.stray.append(_stray(memory, active[outside], size, "before" if int(active.min()) < 0 else "after"))
        active, elements = active[~outside], machine.mask.nonzero()[0][~outside]
        data = data[~outside] if isinstance(data, np.ndarray) else data
        if not active.size:
            return
    index = _indices(machine, memory, active, size)
    if memory.checked:
        places = active[:, None] + np.arange(size)
        if machine.element_accesses is not None:
            machine.element_accesses.write(memory, places, np.arange(machine.lanes)[elements])
        if memory.traced:
            memory.record_write(places, machine.clock.lanes(manner)[elements][:, None], machine.clock, manner)
        memory.define(places)
    memory.view(type_.dtype)[index] = data


def _indices(machine: Machine, memory: Memory, offsets: np.ndarray, size: int) -> np.ndarray:
    """Return the numbers of the scalars of ``size`` bytes, a power of two, at byte ``offsets``; report the first one that is misaligned."""
    if size == 1:
        return offsets
    if np.count_nonzero(offsets & (size - 1)):
        forbid_misaligned(machine, memory, int(offsets[offsets & (size - 1) != 0][0]), size)
    return np.asarray(offsets >> (size.bit_length() - 1))


def forbid_misaligned(machine: Machine, memory: Memory, offset: int, size: int) -> None:
    """Report an access to a scalar of ``size`` bytes at byte ``offset`` of a memory, which is not a multiple of its size."""
    machine.forbid(SCALAR_ALIGNMENT, f"a scalar of {size} bytes is accessed at byte {offset} of '{memory.name}', no multiple of {size}")


def _stray(memory: Memory, offset: Offset, size: int, where: Where) -> StrayWrite:
    first = int(np.min(offset))
    return StrayWrite(memory.name, where, first if where != "after" else int(np.max(offset)), size)
