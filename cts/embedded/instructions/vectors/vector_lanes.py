"""Helpers for cooperative vector instructions: the components of all invocations as rows, and their places in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cts.embedded.diagnostics import UndefinedUse, Violation
from cts.embedded.instructions.memory.access import forbid_promise
from cts.embedded.machine.machine import Machine
from cts.embedded.memory.memory import Memory
from cts.embedded.module.translation import Translation
from cts.embedded.types.spirv_types import Array, CooperativeVector, Number, Type, Vector, type_text
from cts.embedded.types.values import Undefined, Value, expand, settle, signed_index
from generators.spirv.enumerants import StorageClass

VECTOR_ALIGNMENT, MATRIX_ALIGNMENT = 16, 64
"""Alignments in bytes: from VUIDs 10096 and 10098 to 10100, and from VUIDs 10097 and 10101."""

MEMORY = frozenset({StorageClass.Workgroup, StorageClass.StorageBuffer, StorageClass.PhysicalStorageBuffer})
BUFFERS = frozenset({StorageClass.StorageBuffer, StorageClass.PhysicalStorageBuffer})
"""Storage classes for loads and stores, and for matrices, biases and accumulated values. Vulkan has no CrossWorkgroup."""


@dataclass(frozen=True)
class Places:
    """Where the invocations that execute access memory.

    Attributes:
        memory: the memory.
        lanes: numbers of the invocations, int64.
        first: first byte that each of them accesses, int64, of the same shape.
    """

    memory: Memory
    lanes: np.ndarray
    first: np.ndarray

    def are_inside(self, machine: Machine, size: int) -> bool:
        """Return whether all invocations find ``size`` bytes in the memory; report the first that does not. See ``Memory.check_bounds``."""
        outside = (self.first < 0) | (self.first + size > self.memory.size)
        first = int(self.first[outside.argmax()])
        where = np.zeros(machine.lanes, bool)
        where[self.lanes[outside]] = True
        return self.memory.check_bounds(first, first + size, where)


class Pointer:
    """The operands Pointer and Offset of an instruction, with their static rules checked.

    Args:
        pointer, offset: their ids.
        storage: the allowed storage classes.
        scalars: whether the array must consist of scalars.
        rule: the rule about the pointer's type.
        alignment: required alignment of both in bytes.
        alignment_rule: the rule that requires it.

    Raises:
        Violation: the operands break a static rule.
    """

    def __init__(
        self,
        translation: Translation,
        pointer: int,
        offset: int,
        storage: frozenset[StorageClass],
        scalars: bool,
        rule: str,
        alignment: int,
        alignment_rule: str,
    ) -> None:
        if translation.storage(pointer) not in storage:
            raise Violation(rule, f"a pointer to {translation.storage(pointer).name} storage")
        pointee = translation.pointee(pointer)
        element = pointee.element if isinstance(pointee, Array) else None
        if not isinstance(element, Number) and (scalars or not isinstance(element, Vector) or isinstance(element, CooperativeVector)):
            raise Violation(rule, f"a pointer to a {type_text(pointee)}, and not to an array of scalars{'' if scalars else ' or vectors'}")
        self._machine, self._values = translation.machine, translation.values
        self._pointer, self._offset = pointer, offset
        self._number = integer(translation, offset, "the offset")
        self._alignment, self._alignment_rule = alignment, alignment_rule

    def places(self) -> Places:
        """Return where the invocations that execute access memory.

        Raises:
            Violation: a pointer or an offset is not aligned.
        """
        machine = self._machine
        place = self._values[self._pointer].resolve(machine)
        offset = signed_index(settle(self._values[self._offset], machine.mask), self._number)
        lanes = np.flatnonzero(machine.mask)
        values = (np.asarray(value, np.int64) for value in (place.offset, offset))
        base, distance = (value[lanes] if value.ndim else np.full(lanes.shape, value) for value in values)
        for value, what in ((place.memory.base + base, "the pointer"), (distance, "the offset")):
            wrong = value % self._alignment != 0
            if wrong.any():
                at = int(value[wrong][0])
                machine.forbid(self._alignment_rule, f"{what} {at} in '{place.memory.name}' is not a multiple of {self._alignment} bytes")
        return Places(place.memory, lanes, base + distance)


def integer(translation: Translation, id_: int, what: str) -> Number:
    """Return the type of an operand that is a 32-bit integer.

    Raises:
        Violation: the operand is not one.
    """
    type_ = translation.type_of[id_]
    if not isinstance(type_, Number) or type_.is_float or type_.bits != 32:
        raise Violation("VUID-RuntimeSpirv-OpCooperativeVectorLoadNV-11809", f"{what} is a {type_text(type_)}, not a 32-bit integer")
    return type_


def vector_type(translation: Translation, id_: int, rule: str, what: str) -> CooperativeVector:
    """Return the cooperative vector type of a value.

    Raises:
        Violation: the value is not a cooperative vector. The message has ``rule`` and ``what``.
    """
    return checked_vector(translation.type_of[id_], rule, what)


def checked_vector(type_: Type, rule: str, what: str) -> CooperativeVector:
    """Return ``type_`` if it is a cooperative vector type.

    Raises:
        Violation: it is not one.
    """
    if not isinstance(type_, CooperativeVector):
        raise Violation(rule, f"{what} is a {type_text(type_)}, not a cooperative vector")
    return type_


def rows_of(machine: Machine, type_: CooperativeVector, value: Value) -> np.ndarray:
    """Return the components of the invocations that execute, of shape (these invocations, components) and the components' dtype.

    Raises:
        UndefinedUse: a component has no value.
    """
    lanes = np.flatnonzero(machine.mask)
    rows = np.empty((lanes.size, type_.count), type_.number.dtype)
    for i, part in enumerate(expand(settle(value, machine.mask), type_.count)):
        if isinstance(part, Undefined):
            raise UndefinedUse(f"component {i} of a cooperative vector is undefined")
        rows[:, i] = part[lanes] if isinstance(part, np.ndarray) else part
    return rows


def vector_of(machine: Machine, type_: CooperativeVector, rows: np.ndarray) -> Value:
    """Return the vector with the components ``rows`` in the invocations that execute: the inverse of ``rows_of``."""
    if machine.full:
        return tuple(np.ascontiguousarray(column) for column in rows.T)
    whole = np.zeros((type_.count, machine.lanes), type_.number.dtype)
    whole[:, machine.mask] = rows.T
    return tuple(whole)


def check_promise(machine: Machine, places: Places, alignment: int) -> None:
    """Check the alignment that a Memory Operand promises.

    Raises:
        Violation: an access lacks the alignment.
    """
    wrong = (places.memory.base + places.first) % alignment != 0
    if wrong.any():
        forbid_promise(machine, places.memory, int(places.first[wrong][0]), alignment)
