"""Atomic instructions on numbers in memory. The invocations execute them one after another, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from cts.embedded.diagnostics import Unsupported, Violation
from cts.embedded.faults import replaceable
from cts.embedded.instructions.memory.access import CALLBACK_STORE, forbid_misaligned
from cts.embedded.instructions.memory.variables import write_check
from cts.embedded.instructions.registry import executes
from cts.embedded.machine.machine import Run
from cts.embedded.machine.pointers import BytePointer, Part
from cts.embedded.memory.memory import Memory
from cts.embedded.memory.ordering import SHARED, Clock
from cts.embedded.module.translation import Handler, Translation, Words
from cts.embedded.types.shapes import SHARED_STORAGE
from cts.embedded.types.spirv_types import Number, Type
from cts.embedded.types.values import UNDEFINED, Value, blend, settle, spread, to_signed
from generators.spirv.enumerants import MemorySemantics, Op, Scope, StorageClass

_Update = Callable[[Value, Value, Number], Value]
"""Computes the new value from the old value, the operand and their type."""


def _minimum(choose: Callable[[Value, Value], Value], signed: bool) -> _Update:
    def update(old: Value, new: Value, type_: Number) -> Value:
        if not signed:
            return choose(old, new)
        chosen = choose(*(to_signed(v, type_.bits, type_.signed_dtype) for v in (old, new)))
        return chosen & type_.mask

    return update


_UPDATES: Mapping[Op, _Update] = MappingProxyType(
    {
        Op.AtomicLoad: lambda old, _, __: old,
        Op.AtomicStore: lambda _, new, __: new,
        Op.AtomicExchange: lambda _, new, __: new,
        Op.AtomicIIncrement: lambda old, _, t: (old + 1) & t.mask,
        Op.AtomicIDecrement: lambda old, _, t: (old - 1) & t.mask,
        Op.AtomicIAdd: lambda old, new, t: (old + new) & t.mask,
        Op.AtomicISub: lambda old, new, t: (old - new) & t.mask,
        Op.AtomicAnd: lambda old, new, _: old & new,
        Op.AtomicOr: lambda old, new, _: old | new,
        Op.AtomicXor: lambda old, new, _: old ^ new,
        Op.AtomicUMin: _minimum(min, signed=False),
        Op.AtomicUMax: _minimum(max, signed=False),
        Op.AtomicSMin: _minimum(min, signed=True),
        Op.AtomicSMax: _minimum(max, signed=True),
        Op.AtomicFAddEXT: lambda old, new, t: t.dtype.type(old + new),
        Op.AtomicFMinEXT: lambda old, new, _: min(old, new),
        Op.AtomicFMaxEXT: lambda old, new, _: max(old, new),
    }
)

_REPEATABLE = frozenset({Op.AtomicAnd, Op.AtomicOr, Op.AtomicUMin, Op.AtomicUMax, Op.AtomicSMin, Op.AtomicSMax})
"""Updates that commute and are idempotent. Functions of per-element operations may use only these (F-CM2-10)."""


def _atomic(op: Op, update: _Update) -> Handler:
    def handler(translation: Translation, words: Words) -> Run:
        if op is Op.AtomicStore:
            pointer, operand = words[0], words[3]
            type_: Type = translation.type_of[operand]
            order = _order(translation, words[1], words[2])
        else:
            type_, pointer = translation.types[words[0]], words[2]
            operand = words[5] if len(words) > 5 else 0
            order = _order(translation, words[3], words[4])
        return _run(translation, type_, pointer, operand, 0, update, op, order)

    return handler


@executes(Op.AtomicCompareExchange)
def _compare_exchange(translation: Translation, words: Words) -> Run:
    order = _order(translation, words[3], words[4])
    return _run(
        translation, translation.types[words[0]], words[2], words[6], words[7], lambda _, new, __: new, Op.AtomicCompareExchange, order
    )


@replaceable
def ordered_invocations(lanes: np.ndarray) -> np.ndarray:
    """Return the order in which invocations execute an atomic, as indices of ``lanes``. Any order is allowed."""
    return np.arange(lanes.size)


@replaceable
def seen_number(op: Op, place: tuple[Memory, int], lane: int, clock: Clock, latest: Value) -> Value:  # noqa: ARG001 (freedom.py uses all)
    """Return the number at ``place``, a memory and an index, that an atomic of an invocation reads: the latest one or, if it only loads,
    an earlier one that the memory model allows."""
    return latest


@dataclass(frozen=True)
class _Order:
    """How an atomic orders accesses of different workgroups to buffers.

    Attributes:
        acquires, releases: whether the atomic itself orders them.
        available, visible: whether it makes writes available and visible beyond the workgroup.
        wide: whether its scope is wider than the workgroup. If so, a memory barrier may order them instead.
    """

    acquires: bool
    releases: bool
    available: bool
    visible: bool
    wide: bool


def _order(translation: Translation, scope: int, semantics: int) -> _Order:
    wide = translation.constant(scope) in (Scope.Device, Scope.QueueFamily)
    mask = int(translation.constant(semantics))
    covers = wide and bool(mask & MemorySemantics.UniformMemory)
    both = MemorySemantics.AcquireRelease | MemorySemantics.SequentiallyConsistent
    shared = not translation.private_model
    return _Order(
        covers and bool(mask & (both | MemorySemantics.Acquire)),
        covers and bool(mask & (both | MemorySemantics.Release)),
        shared or bool(mask & MemorySemantics.MakeAvailable),
        shared or bool(mask & MemorySemantics.MakeVisible),
        wide,
    )


@dataclass(frozen=True)
class _Atomic:
    """An atomic instruction of a module.

    Attributes:
        translation: the module.
        op: its opcode.
        number: the type of the number in memory.
        pointer, operand, comparator: ids of its operands; 0 for an operand that it lacks.
        update: computes the number that it writes.
        order: how it orders other accesses.
        check_write: checks that the memory may be written.
    """

    translation: Translation
    op: Op
    number: Number
    pointer: int
    operand: int
    comparator: int
    update: _Update
    order: _Order
    check_write: Callable[[], None]

    def run(self) -> Value:
        """Execute it in all invocations, and return the old numbers."""
        machine = self.translation.machine
        parts: list[Part] = self.translation.values[self.pointer].parts(machine)
        if len(parts) == 1:
            return self._change(parts[0][0])
        result: Value = UNDEFINED
        for place, mask in parts:
            with machine.only(mask):
                result = blend(self.number, mask, self._change(place), result)
        return settle(result, machine.mask)

    def _change(self, place: BytePointer) -> Value:
        """Execute it in one memory. Return 0 if it has no place there, and the device is not strict."""
        machine, memory, size = self.translation.machine, place.memory, self.number.bytes
        if self.op is not Op.AtomicLoad and not self._may_write(memory):
            return 0
        lanes = np.flatnonzero(machine.mask)
        offsets = np.broadcast_to(place.offset, machine.lanes)[lanes]
        outside = (offsets < 0) | (offsets + size > memory.size)
        first = int(offsets[outside][0]) if outside.any() else 0
        if outside.any() and not memory.check_bounds(first, first + size):
            return 0
        if (offsets % size).any():
            forbid_misaligned(machine, memory, int(offsets[offsets % size != 0][0]), size)
        bytes_ = offsets[:, None] + np.arange(size)
        memory.check_defined(bytes_)
        repeated = machine.element_accesses if self.op in _REPEATABLE else None
        if repeated is not None:
            repeated.update(memory, bytes_, self.op)
        memory.record_atomic(bytes_, np.repeat(machine.clock.lanes(SHARED)[lanes][:, None], size, axis=1), machine.clock, SHARED)
        old = self._one_by_one(memory, lanes, offsets)
        # The order of repeated calls, and how often each one occurs, are not specified.
        return old if repeated is None else UNDEFINED

    def _may_write(self, memory: Memory) -> bool:
        machine = self.translation.machine
        if machine.callback and (self.op not in _REPEATABLE or machine.element_accesses is None):
            machine.forbid("F-CM2-10", CALLBACK_STORE)
        self.check_write()
        return memory.check_writable()

    def _one_by_one(self, memory: Memory, lanes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Change the number at the byte offset of each executing invocation, and return the old numbers, (all lanes,)."""
        machine, number, values = self.translation.machine, self.number, self.translation.values
        contents, performing = memory.view(number.dtype), self.translation.performing
        order, seen = performing(ordered_invocations)(lanes), performing(seen_number)
        new = spread(number, values[self.operand], machine.lanes) if self.operand else np.zeros(machine.lanes, number.dtype)
        expected = spread(number, values[self.comparator], machine.lanes) if self.comparator else None
        result = np.zeros(machine.lanes, number.dtype)
        for lane, index in zip(lanes[order].tolist(), (offsets // number.bytes)[order].tolist(), strict=True):
            old = contents[index] if number.is_float else int(contents[index])
            result[lane] = seen(self.op, (memory, index), lane, machine.clock, old)
            location = memory.name, index * number.bytes
            self._order_read(location, lane)
            if expected is None or old == expected[lane]:
                self._order_write(location, lane)
                contents[index] = self.update(old, new[lane] if number.is_float else int(new[lane]), number)
        return result

    def _order_read(self, location: tuple[str, int], lane: int) -> None:
        """Order what the invocation does after the read."""
        machine = self.translation.machine
        if self.op is Op.AtomicStore or machine.callback:
            return
        if self.order.acquires:
            machine.clock.acquire(location, lane, self.order.visible)
        elif self.order.wide:
            machine.clock.notice(location, lane)

    def _order_write(self, location: tuple[str, int], lane: int) -> None:
        """Order what the invocation has done before the write."""
        machine = self.translation.machine
        if self.op is Op.AtomicStore:
            machine.clock.end_release(location)
        if self.op is Op.AtomicLoad or machine.callback:
            return
        if self.order.releases:
            machine.clock.release(location, lane, self.order.available)
        elif self.order.wide:
            machine.clock.pass_on(location, lane)


def _run(translation: Translation, type_: Type, pointer: int, operand: int, comparator: int, update: _Update, op: Op, order: _Order) -> Run:
    """Return the function that executes an atomic instruction. ``operand``, ``comparator``: ids, or 0 if it has none.

    Raises:
        Violation: the value in memory is not a number.
        Unsupported: the device has no atomic access of such memory.
    """
    if not isinstance(type_, Number):
        raise Violation("SPIR-V 3.42.18", "an atomic access of a value that is not a number")
    is_buffer = translation.storage(pointer) is StorageClass.Uniform and translation.has_buffer_blocks
    if translation.storage(pointer) not in SHARED_STORAGE | {StorageClass.Image} and not is_buffer:
        raise Unsupported(f"an atomic access of {translation.storage(pointer).name} storage")
    return _Atomic(translation, op, type_, pointer, operand, comparator, update, order, write_check(translation, pointer)).run


for _op, _update in _UPDATES.items():
    executes(_op)(_atomic(_op, _update))
