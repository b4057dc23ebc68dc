"""Comparisons and differences of pointers (SPIR-V 3.52.8)."""

from __future__ import annotations

import numpy as np

from cts.embedded.diagnostics import Unsupported
from cts.embedded.instructions.registry import executes
from cts.embedded.machine.machine import Run
from cts.embedded.machine.pointers import AddressPointer, BytePointer, CellPointer
from cts.embedded.module.translation import Handler, Translation, Words
from cts.embedded.types.spirv_types import number, size_of
from cts.embedded.types.values import Value
from generators.spirv.enumerants import Op


def _place(value: Value) -> tuple[object, Value]:
    """Return the memory into which a pointer points, and the place in it."""
    if isinstance(value, BytePointer):
        return value.memory, value.offset
    if isinstance(value, AddressPointer):
        return value.space, value.address
    if isinstance(value, CellPointer) and not any(isinstance(index, np.ndarray) for index in value.path):
        return (value.cell, value.path), 0
    raise Unsupported("a comparison of pointers into several memories")


def _equal(wanted: bool) -> Handler:
    def handler(translation: Translation, words: Words) -> Run:
        values, a, b = translation.values, words[2], words[3]

        def run() -> Value:
            (one, first), (other, second) = _place(values[a]), _place(values[b])
            if one != other:
                return not wanted
            same = np.equal(first, second) if wanted else np.not_equal(first, second)
            return same if same.ndim else bool(same)

        return run

    return handler


@executes(Op.PtrDiff)
def _difference(translation: Translation, words: Words) -> Run:
    values, machine, a, b = translation.values, translation.machine, words[2], words[3]
    type_, size = translation.number_of(translation.types[words[0]]), size_of(translation.pointee(a))

    def run() -> Value:
        (one, first), (other, second) = _place(values[a]), _place(values[b])
        if one != other:
            machine.forbid("SPIR-V 3.52.8 OpPtrDiff", "the difference of pointers into different memories")
        steps = np.asarray((np.asarray(first, np.int64) - np.asarray(second, np.int64)) // size)
        bits = steps.astype(type_.signed_dtype).view(number(type_.component.name).dtype)
        return bits if bits.ndim else int(bits)

    return run


executes(Op.PtrEqual)(_equal(True))
executes(Op.PtrNotEqual)(_equal(False))
