"""Atomic instructions on numbers in memory. The invocations execute them one after another, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from cts.embedded.diagnostics import Unsupported, Violation
from cts.embedded.instructions.memory.access import CALLBACK_STORE, SCALAR_ALIGNMENT
from cts.embedded.instructions.memory.variables import write_check
from cts.embedded.instructions.registry import executes
from cts.embedded.machine.machine import Run
from cts.embedded.machine.pointers import BytePointer, Part
from cts.embedded.memory.ordering import SHARED
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


def _run(translation: Translation, type_: Type, pointer: int, operand: int, comparator: int, update: _Update, op: Op, order: _Order) -> Run:
    if not isinstance(type_, Number):
        raise Violation("SPIR-V 3.42.18", "an atomic access of a value that is not a number")
    is_buffer = translation.storage(pointer) is StorageClass.Uniform and translation.has_buffer_blocks
    if translation.storage(pointer) not in SHARED_STORAGE | {StorageClass.Image} and not is_buffer:
        raise Unsupported(f"an atomic access of {translation.storage(pointer).name} storage")
    machine, values, number = translation.machine, translation.values, type_
    writes = op is not Op.AtomicLoad
    check_write = write_check(translation, pointer)

    def run() -> Value:
        parts: list[Part] = values[pointer].parts(machine)
        if len(parts) == 1:
            return change(parts[0][0])
        result: Value = UNDEFINED
        for place, mask in parts:
            with machine.only(mask):
                result = blend(number, mask, change(place), result)
        return settle(result, machine.mask)

    def change(place: BytePointer) -> Value:
        memory = place.memory
        if writes:
            if machine.callback and (op not in _REPEATABLE or machine.element_accesses is None):
                machine.forbid("F-CM2-10", CALLBACK_STORE)
            check_write()
            if not memory.check_writable():
                return 0
        lanes = np.flatnonzero(machine.mask)
        offsets = np.broadcast_to(place.offset, machine.lanes)[lanes]
        if not memory.check_bounds(int(offsets.min()), int(offsets.max()) + number.bytes):
            return 0
        if (offsets % number.bytes).any():
            machine.forbid(SCALAR_ALIGNMENT, f"an atomic access of '{memory.name}' at a misaligned byte")
        bytes_ = offsets[:, None] + np.arange(number.bytes)
        memory.check_defined(bytes_)
        repeatable = machine.element_accesses is not None and op in _REPEATABLE
        if machine.element_accesses is not None and repeatable:
            machine.element_accesses.update(memory, bytes_, op)
        memory.record_atomic(bytes_, np.repeat(machine.clock.lanes(SHARED)[lanes][:, None], number.bytes, axis=1), machine.clock, SHARED)
        contents = memory.view(number.dtype)
        new = spread(number, values[operand], machine.lanes) if operand else np.zeros(machine.lanes, number.dtype)
        expected = spread(number, values[comparator], machine.lanes) if comparator else None
        result = np.zeros(machine.lanes, number.dtype)
        for lane, index in zip(lanes.tolist(), (offsets // number.bytes).tolist(), strict=True):
            old = contents[index] if number.is_float else int(contents[index])
            result[lane] = old
            location = memory.name, index * number.bytes
            if order.acquires and op is not Op.AtomicStore and not machine.callback:
                machine.clock.acquire(location, lane, order.visible)
            elif order.wide and op is not Op.AtomicStore and not machine.callback:
                machine.clock.notice(location, lane)
            if expected is None or old == expected[lane]:
                if op is Op.AtomicStore:
                    machine.clock.end_release(location)
                if order.releases and writes and not machine.callback:
                    machine.clock.release(location, lane, order.available)
                elif order.wide and writes and not machine.callback:
                    machine.clock.pass_on(location, lane)
                contents[index] = update(old, new[lane] if number.is_float else int(new[lane]), number)
        # The order of the calls, and how often each one occurs, are not specified.
        return UNDEFINED if repeatable else result

    return run


for _op, _update in _UPDATES.items():
    executes(_op)(_atomic(_op, _update))
