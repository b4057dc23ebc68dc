"""OpCooperativeVectorLoadNV and OpCooperativeVectorStoreNV (SPV_NV_cooperative_vector, 3.42.8)."""

from __future__ import annotations

import numpy as np

from cts.embedded.instructions.memory.access import CALLBACK_STORE
from cts.embedded.instructions.memory.memory_operands import VECTOR_RULES, memory_operands
from cts.embedded.instructions.memory.variables import write_check
from cts.embedded.instructions.registry import executes
from cts.embedded.instructions.vectors.vector_lanes import (
    MEMORY,
    VECTOR_ALIGNMENT,
    Pointer,
    check_promise,
    checked_vector,
    rows_of,
    vector_of,
    vector_type,
)
from cts.embedded.machine.machine import Run
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.values import Value
from generators.kernel import StrayWrite
from generators.spirv.enumerants import Op

_ALIGNED = "VUID-RuntimeSpirv-OpCooperativeVectorLoadNV-10099"


@executes(Op.CooperativeVectorLoadNV)
def _load(translation: Translation, words: Words) -> Run:
    type_ = checked_vector(translation.types[words[0]], "CV-LD-01", "the result")
    pointer = Pointer(translation, words[2], words[3], MEMORY, False, "CV-LD-02", VECTOR_ALIGNMENT, _ALIGNED)
    access = memory_operands(translation, words[4:], translation.storage(words[2]), False, "OpCooperativeVectorLoadNV", VECTOR_RULES)
    machine, size, dtype = translation.machine, type_.bytes, type_.number.dtype

    def run() -> Value:
        places = pointer.places()
        memory = places.memory
        touched = places.first[:, None] + np.arange(size)
        if not places.are_inside(machine, size):
            return vector_of(machine, type_, memory.bytes_at(touched).view(dtype))
        if memory.checked:
            memory.check_defined(touched)
            if memory.traced:
                records = machine.clock.lanes(access.manner)[places.lanes][:, None]
                memory = memory.record_read(touched, records, machine.clock, access.manner)
        check_promise(machine, places, access.alignment)
        return vector_of(machine, type_, memory.data[touched].view(dtype))

    return run


@executes(Op.CooperativeVectorStoreNV)
def _store(translation: Translation, words: Words) -> Run:
    type_ = vector_type(translation, words[2], "CV-ST-01", "the object")
    pointer = Pointer(translation, words[0], words[1], MEMORY, False, "CV-LD-02", VECTOR_ALIGNMENT, _ALIGNED)
    access = memory_operands(translation, words[3:], translation.storage(words[0]), True, "OpCooperativeVectorStoreNV", VECTOR_RULES)
    check_write = write_check(translation, words[0])
    machine, values, size = translation.machine, translation.values, type_.bytes

    def run() -> Value:
        if machine.callback:
            machine.forbid("F-CM2-10", CALLBACK_STORE)
        check_write()
        raw = np.ascontiguousarray(rows_of(machine, type_, values[words[2]])).view(np.uint8)
        places = pointer.places()
        memory = places.memory
        if not memory.check_writable():
            memory.stray.append(StrayWrite(memory.name, "read-only", int(places.first.min()), raw.size))
            return
        touched = places.first[:, None] + np.arange(size)
        if not places.are_inside(machine, size):
            inside = (touched >= 0) & (touched < memory.size)
            memory.data[touched[inside]] = raw[inside]
            outside = touched[~inside]
            memory.stray.append(StrayWrite(memory.name, "after", int(outside.min()), outside.size))
            return
        check_promise(machine, places, access.alignment)
        if memory.checked:
            if memory.traced:
                records = machine.clock.lanes(access.manner)[places.lanes][:, None]
                memory.record_write(touched, records, machine.clock, access.manner)
            memory.define(touched)
        memory.data[touched] = raw

    return run
