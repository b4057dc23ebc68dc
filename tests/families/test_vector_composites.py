"""vector_composites and vector_variables show devices that construct, index, select or keep the vectors of invocations wrongly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cts.embedded.faults import Fault, Faults
from cts.embedded.machine.machine import Run
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.spirv_types import Vector
from cts.verdict.verdict import Verdict
from generators.spirv.enumerants import Op
from tests.broken_devices.doubles import Broken, verdict_on

Change = Callable[[Translation, Words, np.ndarray], np.ndarray]


def with_operand(position: int, change: Change) -> Fault:
    """Return a fault that changes the value of an operand of an instruction, if it is a scalar.

    Args:
        position: index of the operand, counted from Result Type.
    """

    def fault(handler):
        def broken(translation: Translation, words: Words) -> Run:
            run = handler(translation, words)
            if position >= len(words):
                return run

            def execute():
                values, id_ = translation.values, words[position]
                given = values[id_]
                if isinstance(given, int | np.integer | np.ndarray):
                    lanes = np.broadcast_to(np.asarray(given), translation.machine.lanes)
                    values[id_] = change(translation, words, lanes)
                result = run()
                values[id_] = given
                return result

            return execute

        return broken

    return fault


def with_words(change: Callable[[Translation, Words], Words]) -> Fault:
    """Return a fault that executes an instruction on vectors as if it had other words."""

    def fault(handler):
        def broken(translation: Translation, words: Words) -> Run:
            return handler(translation, change(translation, words))

        return broken

    return fault


def of_first_lane(translation: Translation, _: Words, values: np.ndarray) -> np.ndarray:
    """Give every invocation the value of the first invocation that executes."""
    return np.full_like(values, values[np.flatnonzero(translation.machine.mask)[0]])


def in_bytes(translation: Translation, words: Words, values: np.ndarray) -> np.ndarray:
    """Use an index into a vector as a distance in bytes."""
    type_ = translation.type_of[words[2]]
    assert isinstance(type_, Vector)
    return values // np.asarray(type_.element.bytes, values.dtype)  # type: ignore[attr-defined]


def neighbour(translation: Translation, words: Words) -> Words:
    """Insert the component into the place after its own."""
    type_ = translation.types[words[0]]
    return (*words[:-1], (words[-1] + 1) % type_.count) if isinstance(type_, Vector) else words


def reversed_operands(translation: Translation, words: Words) -> Words:
    return (*words[:2], *reversed(words[2:])) if isinstance(translation.types[words[0]], Vector) else words


def first_only(handler):
    """Leave zeros after the first component."""

    def broken(translation: Translation, words: Words) -> Run:
        run = handler(translation, words)

        def execute():
            first, *rest = run()
            return (first, *(np.zeros_like(np.asarray(one)) for one in rest))

        return execute

    return broken


def neighbour_too(handler):
    """Insert the component into its place and the one after it."""

    def broken(translation: Translation, words: Words) -> Run:
        run, type_ = handler(translation, words), translation.types[words[0]]
        assert isinstance(type_, Vector)
        count = type_.count

        def execute():
            values, index = translation.values, words[4]
            vector, at = values[words[2]], values[index]
            values[words[2]] = run()
            values[index] = (np.asarray(at) + 1).astype(np.uint32) % np.uint32(count)
            result = run()
            values[words[2]], values[index] = vector, at
            return result

        return execute

    return broken


COMPOSITES = {
    "all take the component of one invocation": (
        Op.VectorExtractDynamic,
        with_operand(3, of_first_lane),
        ["both/control:half", "reverse/stores:all"],
    ),
    "an index counts bytes": (Op.VectorExtractDynamic, with_operand(3, in_bytes), ["extract", "both/control:loop"]),
    "all replace the component of one invocation": (Op.VectorInsertDynamic, with_operand(4, of_first_lane), ["both", "insert"]),
    "an insertion writes the neighbour too": (Op.VectorInsertDynamic, neighbour_too, ["insert", "both/control:switch"]),
    "an insertion is one place off": (Op.CompositeInsert, with_words(neighbour), ["exchange", "copy"]),
    "constituents are in reverse": (Op.CompositeConstruct, with_words(reversed_operands), ["construct/length:5", "construct"]),
    "a splat has one component": (
        Op.CompositeConstructReplicateEXT,
        first_only,
        ["replicated_splat", "replicated_splat/length:2/length_from:specialization"],
    ),
    "one invocation selects for all": (Op.Select, with_operand(2, of_first_lane), ["select", "select/stores:all"]),
}

VARIABLES = {
    "all index the array by one invocation's index": (
        Op.AccessChain,
        with_operand(3, of_first_lane),
        ["holder:array_of_struct/write:invocation", "count_from:specialization/write:invocation/change:rotate"],
    ),
    "a copy has its parts in reverse": (
        Op.CompositeConstruct,
        lambda handler: (
            lambda translation, words: handler(
                translation, words if isinstance(translation.types[words[0]], Vector) else (*words[:2], *reversed(words[2:]))
            )
        ),
        ["holder:array_of_struct/other_storage:private/copy:construct/change:replace", "copy:construct/change:replace"],
    ),
}


@pytest.mark.parametrize("what", list(COMPOSITES))
def test_a_wrong_device_fails_composites(what):
    op, fault, cases = COMPOSITES[what]
    for form in cases:
        assert verdict_on(f"vector_composites[component:f16/form:{form}]", Broken(faults=Faults({op: fault}))) is Verdict.FAIL, form


@pytest.mark.parametrize("what", list(VARIABLES))
def test_a_wrong_device_fails_variables(what):
    op, fault, cases = VARIABLES[what]
    for parameters in cases:
        case = f"vector_variables[component:f16/{parameters}]"
        assert verdict_on(case, Broken(faults=Faults({op: fault}))) is Verdict.FAIL, parameters


def test_the_right_device_passes():
    forms = {form for _, _, cases in COMPOSITES.values() for form in cases}
    parameters = {one for _, _, cases in VARIABLES.values() for one in cases}
    cases = [f"vector_composites[component:f16/form:{form}]" for form in forms]
    for case in (*cases, *(f"vector_variables[component:f16/{one}]" for one in parameters)):
        assert verdict_on(case, Broken()) is Verdict.PASS, case
