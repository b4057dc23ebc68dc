"""Pointers into byte memory, and into variables of Function, Private and Input storage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cts.embedded.diagnostics import Unsupported, Violation
from cts.embedded.machine.elements import NO_ELEMENT, element_table
from cts.embedded.machine.machine import Machine
from cts.embedded.memory.memory import AddressSpace, Memory
from cts.embedded.types.spirv_types import MatrixType, Number, Type, constituent_count, constituent_type
from cts.embedded.types.values import (
    UNDEFINED,
    Mask,
    Partly,
    Undefined,
    Value,
    blend,
    expand,
    partly,
    settle,
    varies,
    with_defined,
)
from generators.images import ImageSlot

Offset = int | np.ndarray


def blend_offsets(mask: Mask, new: Offset, old: Offset) -> Offset:
    """Return the offsets of pointers: ``new`` for the invocations of ``mask``, ``old`` for the others."""
    if not varies(new) and not varies(old) and new == old:
        return new
    return np.where(mask, new, old).astype(np.int64)


Part = tuple["BytePointer", Mask]
"""A place in one memory, and the invocations that access it there."""


class BytePointer:
    """A place in a buffer, workgroup variable or push-constant block.

    ``offset`` is in bytes: a Python int if all invocations agree, else an int64 array.
    """

    __slots__ = ("memory", "offset")

    def __init__(self, memory: Memory, offset: Offset) -> None:
        self.memory = memory
        self.offset = offset

    def moved(self, distance: Offset) -> BytePointer:
        """Return the place ``distance`` bytes further on."""
        return BytePointer(self.memory, self.offset + distance)

    def resolve(self, _: Machine) -> BytePointer:
        """Return the pointer itself."""
        return self

    def parts(self, machine: Machine) -> list[Part]:
        """Return the pointer itself."""
        return [(self, machine.mask)]

    def blend(self, mask: Mask, old: Value) -> Value:
        """See ``values.blend``."""
        if isinstance(old, BytePointer) and old.memory is self.memory:
            return BytePointer(self.memory, blend_offsets(mask, self.offset, old.offset))
        if isinstance(old, Undefined):
            return self
        return ChosenPointer((self,), np.zeros(len(mask), np.int64)).blend(mask, old)


class ChosenPointer:
    """A place that may be in a different memory for each invocation: ``places[which]``, where ``which`` is an int64 array."""

    __slots__ = ("places", "which")

    def __init__(self, places: tuple[BytePointer, ...], which: np.ndarray) -> None:
        self.places = places
        self.which = which

    def moved(self, distance: Offset) -> ChosenPointer:
        """Return the places ``distance`` bytes further on."""
        return ChosenPointer(tuple(place.moved(distance) for place in self.places), self.which)

    def resolve(self, machine: Machine) -> BytePointer:
        """Return the place if all invocations that execute access one memory."""
        which = np.unique(self.which[machine.mask])
        if len(which) > 1:
            raise Unsupported("one access with pointers to different variables")
        return self.places[int(which[0])]

    def parts(self, machine: Machine) -> list[Part]:
        """Return the place of the invocations that execute, in each memory that one of them accesses."""
        which = np.unique(self.which[machine.mask]).tolist()
        return [(self.places[number], machine.mask & (self.which == number)) for number in which]

    def blend(self, mask: Mask, old: Value) -> Value:
        """See ``values.blend``."""
        if isinstance(old, Undefined):
            return self
        if isinstance(old, BytePointer):
            old = ChosenPointer((old,), np.zeros(len(mask), np.int64))
        if not isinstance(old, ChosenPointer):
            raise Unsupported("invocations that diverge with pointers to different variables")
        return ChosenPointer((*self.places, *old.places), np.where(mask, self.which, old.which + len(self.places)))


class ImagePlace:
    """The image or sampler of a descriptor. A load of the descriptor returns it too."""

    __slots__ = ("memory", "slot")

    def __init__(self, slot: ImageSlot, memory: Memory) -> None:
        self.slot = slot
        self.memory = memory

    def moved(self, _: Offset) -> ImagePlace:
        """Return the place itself: pointers cannot point to parts of an image."""
        return self

    def sampled_like(self, sampler: ImagePlace) -> ImagePlace:
        """Return the image with the sampler of another descriptor."""
        return ImagePlace(replace(self.slot, filter=sampler.slot.filter, address=sampler.slot.address), self.memory)


class DescriptorArray:
    """A variable that is an array of ``count`` descriptors: ``bound`` maps their numbers to buffers, the others point to ``nothing``."""

    __slots__ = ("bound", "count", "nothing")

    def __init__(self, bound: Mapping[int, Any], count: int, nothing: BytePointer) -> None:
        self.bound = bound
        self.count = count
        self.nothing = nothing

    def chosen(self, machine: Machine, which: Offset, is_non_uniform: bool) -> BytePointer | ChosenPointer:
        """Return the buffer of each invocation.

        Raises:
            Violation: there is no such descriptor, or invocations choose different ones and the pointer is not decorated NonUniform.
        """
        if not self.count:
            raise Violation("VK-DES-01", "a descriptor of an array that has nothing bound to it")
        beyond = (np.asarray(which) < 0) | (np.asarray(which) >= self.count)
        if np.any(beyond & machine.mask):
            first = int(np.broadcast_to(which, machine.mask.shape)[beyond & machine.mask][0])
            text = f"descriptor {first} is outside of the range 0 to {self.count - 1}"
            machine.forbid("VK-DES-01", text, beyond if beyond.ndim else None)
            which = np.where(beyond, 0, which) if isinstance(which, np.ndarray) else 0
        active = which[machine.mask] if isinstance(which, np.ndarray) else np.array([which])
        if not isinstance(which, np.ndarray) or (active == active[0]).all():
            one: BytePointer = self.bound.get(int(active[0]), self.nothing)
            return one
        numbers, which_number = np.unique(np.where(machine.mask, which, active[0]), return_inverse=True)
        places = tuple(self.bound.get(number, self.nothing) for number in numbers.tolist())
        if any(isinstance(place, ImagePlace) for place in places):
            raise Unsupported("invocations that choose different images")
        if not is_non_uniform:
            machine.forbid(
                "VK-DES-02", "invocations choose different descriptors, and the pointer is not decorated NonUniform (GLSL: nonuniformEXT)"
            )
        return ChosenPointer(places, which_number)


class AddressPointer:
    """A 64-bit address of PhysicalStorageBuffer storage, a Python int or an int64 array."""

    __slots__ = ("address", "space")

    def __init__(self, space: AddressSpace, address: Offset) -> None:
        self.space = space
        self.address = address

    def moved(self, distance: Offset) -> AddressPointer:
        """Return the place ``distance`` bytes further on."""
        return AddressPointer(self.space, self.address + distance)

    def resolve(self, machine: Machine) -> BytePointer:
        """Return the place in the buffer that contains the address.

        Raises:
            Violation: no buffer contains it.
        """
        if not isinstance(self.address, np.ndarray):
            memory = self.space.find(self.address)
            return BytePointer(memory, self.address - memory.base)
        active = self.address[machine.mask]
        memory = self.space.find(int(active[0]))
        if self.space.find(int(active.min())) is not memory or self.space.find(int(active.max())) is not memory:
            raise Unsupported("one access with addresses in several buffers")
        return BytePointer(memory, self.address - memory.base)

    def parts(self, machine: Machine) -> list[Part]:
        """Return the place of the invocations that execute, in each memory that one of them accesses.

        Raises:
            Violation: no buffer contains an address.
        """
        if isinstance(self.address, np.ndarray):
            active = self.address[machine.mask]
            if self.space.find(int(active.min())) is not self.space.find(int(active.max())):
                return self._by_memory(machine, self.address)
        return [(self.resolve(machine), machine.mask)]

    def _by_memory(self, machine: Machine, addresses: np.ndarray) -> list[Part]:
        masks: dict[Memory, Mask] = {}
        for lane in np.flatnonzero(machine.mask).tolist():
            memory = self.space.find(int(addresses[lane]))
            masks.setdefault(memory, np.zeros(len(machine.mask), bool))[lane] = True
        return [(BytePointer(memory, addresses - memory.base), mask) for memory, mask in masks.items()]

    def blend(self, mask: Mask, old: Value) -> Value:
        """See ``values.blend``."""
        if isinstance(old, AddressPointer):
            return AddressPointer(self.space, blend_offsets(mask, self.address, old.address))
        return self


class Cell:
    """The contents of a variable that has no address: one value for all invocations, as in ``values``."""

    __slots__ = ("name", "type", "value")

    def __init__(self, type_: Type, name: str) -> None:
        self.type = type_
        self.name = name
        self.value: Value = UNDEFINED


class CellPointer:
    """A place in a cell: the indices of the path to it, each a Python int or an int64 array."""

    __slots__ = ("cell", "mapping", "path")

    def __init__(self, cell: Cell, path: tuple[Offset, ...], mapping: str) -> None:
        self.cell = cell
        self.path = path
        self.mapping = mapping

    def blend(self, mask: Mask, old: Value) -> Value:
        """See ``values.blend``."""
        if isinstance(old, CellPointer) and old.cell is self.cell and len(old.path) == len(self.path):
            path = tuple(blend_offsets(mask, a, b) for a, b in zip(self.path, old.path, strict=True))
            return CellPointer(self.cell, path, self.mapping)
        if isinstance(old, Undefined):
            return self
        raise Unsupported("invocations that diverge with pointers to different variables")

    def load(self, machine: Machine) -> Value:
        """Return the value at the place; UNDEFINED if an invocation that executes has none."""
        value = _get(machine, self.cell.type, self.cell.value, self.path, self.mapping)
        return settle(value, machine.mask)

    def store(self, machine: Machine, value: Value) -> None:
        """Change the value at the place, for the invocations that execute."""
        cell = self.cell
        if not self.path:
            cell.value = value if machine.full else blend(cell.type, machine.mask, value, cell.value)
        else:
            cell.value = _set(machine, cell.type, cell.value, self.path, value, self.mapping)


def out_of_range(index: int, count: int | None) -> str:
    """Describe an index that is outside of a composite of ``count`` constituents; None: a runtime array."""
    return f"index {index} is outside of " + ("a runtime array, which begins at 0" if count is None else f"the range 0 to {count - 1}")


def _each_index(machine: Machine, index: np.ndarray, count: int) -> list[tuple[int, Mask]]:
    active = np.unique(index[machine.mask])
    if active[0] < 0 or active[-1] >= count:
        wrong = int(active[0] if active[0] < 0 else active[-1])
        raise Violation("SPIR-V 3.42.8 OpAccessChain", out_of_range(wrong, count))
    return [(int(i), machine.mask & (index == i)) for i in active]


def _get(machine: Machine, type_: Type, value: Value, path: tuple[Offset, ...], mapping: str) -> Value:
    if not path:
        return value
    if isinstance(type_, MatrixType):
        return get_component(machine, type_, value, path[0], mapping)
    index, rest = path[0], path[1:]
    count = constituent_count(type_)
    parts = expand(value, count)
    if not isinstance(index, np.ndarray):
        if not 0 <= index < count:
            raise Violation("SPIR-V 3.42.8 OpAccessChain", out_of_range(index, count))
        return _get(machine, constituent_type(type_, index), parts[index], rest, mapping)
    result: Value = None
    leaf = constituent_type(type_, 0)
    for i, mask in _each_index(machine, index, count):
        found = _get(machine, leaf, parts[i], rest, mapping)
        result = found if result is None else blend(_leaf(leaf, rest), mask, found, result)
    return result


def _leaf(type_: Type, path: tuple[Offset, ...]) -> Type:
    for index in path:
        type_ = constituent_type(type_, 0 if isinstance(index, np.ndarray) else index)
    return type_


def _set(machine: Machine, type_: Type, old: Value, path: tuple[Offset, ...], new: Value, mapping: str) -> Value:
    if not path:
        return new if machine.full else blend(type_, machine.mask, new, old)
    if isinstance(type_, MatrixType):
        return set_component(machine, type_, old, path[0], new, mapping)
    index, rest = path[0], path[1:]
    count = constituent_count(type_)
    parts = list(expand(old, count))
    if not isinstance(index, np.ndarray):
        if not 0 <= index < count:
            raise Violation("SPIR-V 3.42.8 OpAccessChain", out_of_range(index, count))
        parts[index] = _set(machine, constituent_type(type_, index), parts[index], rest, new, mapping)
        return tuple(parts)
    for i, mask in _each_index(machine, index, count):
        with machine.only(mask):
            parts[i] = _set(machine, constituent_type(type_, i), parts[i], rest, new, mapping)
    return tuple(parts)


def _places(machine: Machine, type_: MatrixType, index: Offset, mapping: str) -> np.ndarray:
    """Return the element of each invocation's component, numbered through all instances; -1 if the invocation does not execute."""
    if machine.callback:
        raise Unsupported("a component of a cooperative matrix in a function that is called for elements")
    instances = machine.instances(type_.scope)
    lanes = machine.lanes // instances
    table = element_table(mapping, type_.rows, type_.columns, lanes)
    lane = np.arange(machine.lanes) % lanes
    if isinstance(index, np.ndarray):
        inside = (index >= 0) & (index < table.shape[0])
        places = np.where(inside, table[np.where(inside, index, 0), lane], NO_ELEMENT)
    elif 0 <= index < table.shape[0]:
        places = table[index, lane]
    else:
        places = np.full(machine.lanes, NO_ELEMENT)
    missing = machine.mask & (places == NO_ELEMENT)
    if missing.any():
        which = "that component" if isinstance(index, np.ndarray) else f"component {index}"
        raise Violation("KHR-LEN-02", f"invocation {int(np.flatnonzero(missing)[0])} does not have {which} of a {type_}")
    offset = np.arange(machine.lanes) // lanes * (type_.rows * type_.columns)
    return np.where(machine.mask, places + offset, -1)


def get_component(machine: Machine, type_: MatrixType, matrix: Value, index: Offset, mapping: str) -> Value:
    """Return component ``index`` of each invocation.

    Raises:
        Violation: an invocation does not have the component.
    """
    if matrix is UNDEFINED:
        return UNDEFINED
    places = _places(machine, type_, index, mapping)
    if isinstance(matrix, Partly):
        return partly(matrix.value.reshape(-1)[places], matrix.defined.reshape(-1)[places] | ~machine.mask)
    return matrix.reshape(-1)[places]


def set_component(machine: Machine, type_: MatrixType, matrix: Value, index: Offset, value: Value, mapping: str) -> Value:
    """Return the matrix with component ``index`` replaced in each invocation that executes.

    Raises:
        Violation: an invocation does not have the component.
    """
    places = _places(machine, type_, index, mapping)
    shape = (machine.instances(type_.scope), type_.rows, type_.columns)
    contents, defined = (part.copy() for part in with_defined(matrix, shape, type_.number.dtype))
    given, is_known = with_defined(value, (machine.lanes,), type_.number.dtype)
    chosen = places[machine.mask]
    contents.reshape(-1)[chosen], defined.reshape(-1)[chosen] = given[machine.mask], is_known[machine.mask]
    return partly(contents, defined)


def index_type(type_: Type) -> Number:
    """Return the number type of an index.

    Raises:
        Unsupported: the type is not a number.
    """
    if isinstance(type_, Number):
        return type_
    raise Unsupported(f"an index of type {type_}")
