"""Faults of embedded devices in instructions on cooperative vectors: what a compiler may do wrong."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from cts.embedded.faults import Fault
from cts.embedded.machine.machine import Machine, Run
from cts.embedded.machine.pointers import BytePointer
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.spirv_types import CooperativeVector
from cts.embedded.types.values import expand
from generators.spirv.enumerants import Op

Bend = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Takes the numbers of all invocations and which invocations execute, and returns other numbers."""

Components = Callable[[list[Any]], list[Any]]
"""Takes the components of a vector, and returns others."""


def _around(prepare: Callable[[Translation, Words], tuple[int, Callable[[Any, Machine], Any]] | None]) -> Fault:
    """Return a fault that replaces the value of an operand while its instruction runs.

    Args:
        prepare: returns the operand's id and its replacement; None if the instruction is right.
    """

    def fault(handler: Callable[[Translation, Words], Run]) -> Callable[[Translation, Words], Run]:
        def broken(translation: Translation, words: Words) -> Run:
            run, wrong = handler(translation, words), prepare(translation, words)
            if wrong is None:
                return run
            id_, change = wrong

            def execute() -> Any:
                values = translation.values
                given = values[id_]
                values[id_] = change(given, translation.machine)
                try:
                    return run()
                finally:
                    values[id_] = given

            return execute

        return broken

    return fault


def with_scalar(at: int, bend: Bend) -> Fault:
    """Return a fault that changes the integers of operand ``at``."""

    def change(given: Any, machine: Machine) -> Any:
        return bend(np.broadcast_to(np.asarray(given, np.uint32), machine.lanes), machine.mask)

    return _around(lambda _, words: (words[at], change))


def kept_bits(count: int) -> Bend:
    """Return a change that keeps the lowest bits of each number."""
    return lambda numbers, _: numbers & np.uint32((1 << count) - 1)


def of_first_lane(numbers: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Give every invocation the number of the first one that executes."""
    return np.full_like(numbers, numbers[np.flatnonzero(mask)[0]])


def with_pointer(at: int, change: Callable[[BytePointer, Machine], Any]) -> Fault:
    """Return a fault that changes the place of the pointer that is operand ``at``."""

    def pointer(given: Any, machine: Machine) -> Any:
        place = given.resolve(machine)
        return BytePointer(place.memory, change(place, machine))

    return _around(lambda _, words: (words[at], pointer))


def to_the_block(_: BytePointer, __: Machine) -> int:
    """Use the start of the block."""
    return 0


def of_first_pointer(place: BytePointer, machine: Machine) -> int:
    """Use the place of the first invocation that executes."""
    return int(np.broadcast_to(place.offset, machine.lanes)[np.flatnonzero(machine.mask)[0]])


def made_by(translation: Translation, id_: int) -> Op | None:
    """Return the instruction whose result is ``id_``."""
    for op, operands, _ in translation.instructions:
        if len(operands) > 1 and operands[1] == id_ and translation.type_of.get(id_) is not None and operands[0] in translation.types:
            return op
    return None


def with_vector_of(at: int, op: Op, change: Components) -> Fault:
    """Return a fault that changes the vector that is operand ``at``, if its value is the result of ``op``."""

    def prepare(translation: Translation, words: Words) -> tuple[int, Callable[[Any, Machine], Any]] | None:
        if made_by(translation, words[at]) is not op:
            return None
        count = translation.type_of[words[at]].count  # type: ignore[attr-defined]
        return words[at], lambda given, _: tuple(change(_parts(given, count)))

    return _around(prepare)


def _parts(value: Any, count: int) -> list[Any]:
    return list(expand(value, count))


def first_everywhere(parts: list[Any]) -> list[Any]:
    """Replace each component by the first one."""
    return [parts[0]] * len(parts)


def last_first(parts: list[Any]) -> list[Any]:
    """Reverse the components."""
    return parts[::-1]


def zeros_beyond(count: int) -> Components:
    """Return a change that makes components beyond the first ``count`` zero."""
    return lambda parts: [part if i < count else part * 0 for i, part in enumerate(parts)]


def with_result(change: Components) -> Fault:
    """Return a fault that changes the components of the result."""

    def fault(handler: Callable[[Translation, Words], Run]) -> Callable[[Translation, Words], Run]:
        def broken(translation: Translation, words: Words) -> Run:
            run, type_ = handler(translation, words), translation.types[words[0]]
            if not isinstance(type_, CooperativeVector):
                return run
            return lambda: tuple(change(_parts(run(), type_.count)))

        return broken

    return fault


def without_transposition(at: int) -> Fault:
    """Return a fault that takes the constant operand ``at`` as false."""

    def fault(handler: Callable[[Translation, Words], Run]) -> Callable[[Translation, Words], Run]:
        def broken(translation: Translation, words: Words) -> Run:
            other = copy(translation)
            constant = translation.constant
            other.constant = lambda id_: False if id_ == words[at] else constant(id_)  # type: ignore[method-assign]
            return handler(other, words)

        return broken

    return fault


def dropped_in_functions(handler: Callable[[Translation, Words], Run]) -> Callable[[Translation, Words], Run]:
    """Give zeros, or do nothing, outside of the entry point."""

    def broken(translation: Translation, words: Words) -> Run:
        run = handler(translation, words)
        before = [operands[1] for op, operands, _ in translation.instructions[: translation.index] if op is Op.Function]
        if before[-1] == translation.entry:
            return run

        def execute() -> Any:
            type_ = translation.types.get(words[0], None)
            if type_ is None:
                return None
            return tuple(part * 0 for part in _parts(run(), type_.count))  # type: ignore[attr-defined]

        return execute

    return broken


def dropped_if_same(handler: Callable[[Translation, Words], Run]) -> Callable[[Translation, Words], Run]:
    """Do nothing if both vectors of an outer product are one."""
    return lambda translation, words: (lambda: None) if words[2] == words[3] else handler(translation, words)


def with_bias_further_in_one_array(handler: Callable[[Translation, Words], Run]) -> Callable[[Translation, Words], Run]:
    """Read the bias 16 bytes further on if the matrix is in the same buffer."""

    def prepare(translation: Translation, words: Words) -> tuple[int, Callable[[Any, Machine], Any]]:
        def change(given: Any, machine: Machine) -> Any:
            matrix, bias = (translation.values[words[at]].resolve(machine).memory for at in (4, 7))
            return np.asarray(given, np.uint32) - np.uint32(16) if matrix is bias else given

        return words[8], change

    return _around(prepare)(handler)


def before_the_store(handler: Callable[[Translation, Words], Run]) -> Callable[[Translation, Words], Run]:
    """Load what was in a buffer when it was first loaded from, as a compiler does that moves loads before stores."""
    held: dict[int, np.ndarray] = {}

    def broken(translation: Translation, words: Words) -> Run:
        run = handler(translation, words)

        def execute() -> Any:
            memory = translation.values[words[2]].resolve(translation.machine).memory
            now = memory.data.copy()
            memory.data[:] = held.setdefault(id(memory), now)
            try:
                return run()
            finally:
                memory.data[:] = now

        return execute

    return broken


def operand_changed(handler: Callable[[Translation, Words], Run]) -> Callable[[Translation, Words], Run]:
    """Change the composite that is an operand of OpCompositeInsert."""

    def broken(translation: Translation, words: Words) -> Run:
        run = handler(translation, words)

        def execute() -> Any:
            result = run()
            translation.values[words[3]] = result
            return result

        return execute

    return broken
