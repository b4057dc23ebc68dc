"""vector_load_store shows devices that locate, move or guard the vectors of invocations wrongly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cts.embedded.faults import Fault, Faults
from cts.embedded.machine.machine import Run
from cts.embedded.module.translation import Translation, Words
from cts.verdict.verdict import Verdict
from generators.spirv.enumerants import Op
from tests.broken_devices.doubles import Broken, verdict_on

LOAD, STORE = Op.CooperativeVectorLoadNV, Op.CooperativeVectorStoreNV
OFFSET = {LOAD: 3, STORE: 1}
"""Index of the operand Offset."""


def with_offset(op: Op, change: Callable[[Translation, Words, np.ndarray], np.ndarray]) -> Fault:
    """Return a fault that changes the offset of an instruction."""

    def fault(handler):
        def broken(translation: Translation, words: Words) -> Run:
            run, at = handler(translation, words), words[OFFSET[op]]

            def execute():
                values = translation.values
                given = values[at]
                values[at] = change(translation, words, np.broadcast_to(np.asarray(given, np.uint32), translation.machine.lanes))
                result = run()
                values[at] = given
                return result

            return execute

        return broken

    return fault


def of_first_lane(translation: Translation, _: Words, offsets: np.ndarray) -> np.ndarray:
    """Give every invocation the offset of the first invocation that executes."""
    return np.full_like(offsets, offsets[np.flatnonzero(translation.machine.mask)[0]])


def in_sixteen_bits(_: Translation, __: Words, offsets: np.ndarray) -> np.ndarray:
    return offsets & np.uint32(0xFFFF)


def from_the_start(_: Translation, __: Words, offsets: np.ndarray) -> np.ndarray:
    return np.maximum(offsets, 16) - np.uint32(16)


def by_elements(translation: Translation, words: Words, offsets: np.ndarray) -> np.ndarray:
    """Count the offset in elements of the array."""
    pointee = translation.pointee(words[2])
    return offsets * np.uint32(pointee.element.bytes) % np.uint32(512)  # type: ignore[attr-defined]


def in_a_line(translation: Translation, _: Words, offsets: np.ndarray) -> np.ndarray:
    """Access the vectors of the invocations as a row without gaps."""
    return offsets[0] + np.arange(translation.machine.lanes, dtype=np.uint32) * np.uint32(16)


def rounded_up(handler):
    """Write zeros after a vector, up to a multiple of 16 bytes."""

    def broken(translation: Translation, words: Words) -> Run:
        run, type_ = handler(translation, words), translation.type_of[words[2]]
        rest = -type_.bytes % 16  # type: ignore[attr-defined]

        def execute():
            run()
            machine, values = translation.machine, translation.values
            place = values[words[0]].resolve(machine)
            begins = np.broadcast_to(np.asarray(place.offset + values[words[1]], np.int64), machine.lanes)[machine.mask]
            for begin in begins + type_.bytes:  # type: ignore[attr-defined]
                place.memory.data[begin : begin + rest] = 0

        return execute

    return broken


def in_everyone(handler):
    """Also store in invocations that do not execute."""

    def broken(translation: Translation, words: Words) -> Run:
        run, machine = handler(translation, words), translation.machine

        def execute():
            own = machine.mask, machine.full
            machine.mask, machine.full = machine.everyone, True
            run()
            machine.mask, machine.full = own

        return execute

    return broken


def first_components(handler):
    """Move at most four components, and repeat them."""

    def broken(translation: Translation, words: Words) -> Run:
        run = handler(translation, words)

        def execute():
            vector = run()
            return tuple(vector[i % 4] for i in range(len(vector)))

        return execute

    return broken


WRONG = {
    "the load has one offset for all": (
        LOAD,
        with_offset(LOAD, of_first_lane),
        ["", "/invocations:33/order:backward", "/control:branches"],
    ),
    "the store has one offset for all": (STORE, with_offset(STORE, in_a_line), ["/gap:far/first:far/source:buffer", "/length:17"]),
    "offsets have 16 bits": (LOAD, with_offset(LOAD, in_sixteen_bits), ["/first:far", "/gap:far/first:far/source:buffer"]),
    "the first offset is left out": (LOAD, with_offset(LOAD, from_the_start), ["", "/length:1", "/invocations:7/order:scattered"]),
    "the offset counts elements": (LOAD, with_offset(LOAD, by_elements), ["", "/length:7"]),
    "a store writes 16 bytes at a time": (STORE, rounded_up, ["/length:1", "/length:5/control:half/memory:explicit_none", "/length:17"]),
    "all invocations store": (STORE, in_everyone, ["/length:5/control:half/memory:explicit_none"]),
    "vectors have four components": (LOAD, first_components, ["", "/length:5/control:half/memory:explicit_none", "/control:loop"]),
}


@pytest.mark.parametrize("what", list(WRONG))
def test_a_wrong_device_fails(what):
    op, fault, cases = WRONG[what]
    for parameters in cases:
        verdict = verdict_on(f"vector_load_store[component:f16{parameters}]", Broken(faults=Faults({op: fault})))
        assert verdict is Verdict.FAIL, parameters


def test_the_right_device_passes():
    for parameters in {parameters for _, _, cases in WRONG.values() for parameters in cases}:
        assert verdict_on(f"vector_load_store[component:f16{parameters}]", Broken()) is Verdict.PASS, parameters
