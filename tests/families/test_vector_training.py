"""vector_training reveals devices that lose, double or misplace additions to memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count

import numpy as np
import pytest

from cts.embedded.faults import Fault, Faults
from cts.embedded.instructions.vectors.cooperative_vector_training import added
from cts.embedded.machine.machine import Run
from cts.embedded.memory.memory import Memory
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.spirv_types import Number, number
from cts.verdict.verdict import Verdict
from generators.spirv.enumerants import Op
from tests.broken_devices.doubles import Broken, judged, verdict_on

OUTER, SUM = Op.CooperativeVectorOuterProductAccumulateNV, Op.CooperativeVectorReduceSumAccumulateNV
Add = Callable[[Memory, np.ndarray, np.ndarray, Number], None]


def view(memory: Memory, elements: np.ndarray, type_: Number) -> tuple[np.ndarray, np.ndarray]:
    """Return the contents of memory, as numbers of a type, and the indices of elements."""
    return memory.view(number(type_.component.name).dtype), elements // type_.bytes


def every_ninth_lost(add: Add) -> Add:
    """Lose the terms of every ninth invocation that adds, as non-atomic additions do."""
    calls: Iterator[int] = count()

    def broken(memory: Memory, elements: np.ndarray, addends: np.ndarray, type_: Number) -> None:
        if next(calls) % 9 != 5:
            add(memory, elements, addends, type_)

    return broken


def last_component_lost(add: Add) -> Add:
    """Lose the terms of the last component."""

    def broken(memory: Memory, elements: np.ndarray, addends: np.ndarray, type_: Number) -> None:
        add(memory, elements, np.where(np.arange(addends.shape[-1]) == addends.shape[-1] - 1, 0, addends), type_)

    return broken


def doubled(add: Add) -> Add:
    """Add every eleventh term twice."""
    calls: Iterator[int] = count()

    def broken(memory: Memory, elements: np.ndarray, addends: np.ndarray, type_: Number) -> None:
        add(memory, elements, addends * (2 if next(calls) % 11 == 3 else 1), type_)

    return broken


def stored(_: Add) -> Add:
    """Store the operand instead of adding it."""

    def broken(memory: Memory, elements: np.ndarray, addends: np.ndarray, type_: Number) -> None:
        contents, index = view(memory, elements, type_)
        contents[index] = addends

    return broken


def in_half(add: Add) -> Add:
    """Round each sum to f16."""

    def broken(memory: Memory, elements: np.ndarray, addends: np.ndarray, type_: Number) -> None:
        add(memory, elements, addends, type_)
        contents, index = view(memory, elements, type_)
        with np.errstate(over="ignore"):
            contents[index] = contents[index].astype(np.float16)

    return broken


def to_the_neighbour(add: Add) -> Add:
    """Also write an element after the last one."""

    def broken(memory: Memory, elements: np.ndarray, addends: np.ndarray, type_: Number) -> None:
        add(memory, elements, addends, type_)
        contents, index = view(memory, elements, type_)
        contents[min(int(index.max()) + 1, len(contents) - 1)] = 0

    return broken


def in_pairs(add: Add) -> Add:
    """Add zero to the element after the last one if the number of elements is odd."""

    def broken(memory: Memory, elements: np.ndarray, addends: np.ndarray, type_: Number) -> None:
        add(memory, elements, addends, type_)
        contents, index = view(memory, elements, type_)
        last = int(index.max()) + 1
        if addends.size % 2 and last < len(contents):
            with np.errstate(invalid="ignore"):
                contents[last] += contents.dtype.type(0)

    return broken


def rows_as_columns(add: Add) -> Add:
    """Add the transposed product of vectors of the same length."""

    def broken(memory: Memory, elements: np.ndarray, addends: np.ndarray, type_: Number) -> None:
        add(memory, elements, addends.T, type_)

    return broken


def as_integers(add: Add) -> Add:
    """Truncate each term to an integer before it is added."""

    def broken(memory: Memory, elements: np.ndarray, addends: np.ndarray, type_: Number) -> None:
        add(memory, elements, np.trunc(addends), type_)

    return broken


def in_everyone(handler: Callable[[Translation, Words], Run]) -> Callable[[Translation, Words], Run]:
    """Also add in invocations that do not execute."""

    def broken(translation: Translation, words: Words) -> Run:
        run, machine = handler(translation, words), translation.machine

        def execute() -> object:
            own = machine.mask, machine.full
            machine.mask, machine.full = machine.everyone, True
            run()
            machine.mask, machine.full = own
            return None

        return execute

    return broken


def of_first_lane(handler: Callable[[Translation, Words], Run]) -> Callable[[Translation, Words], Run]:
    """Give every invocation the offset of the first invocation that executes."""

    def broken(translation: Translation, words: Words) -> Run:
        run, values = handler(translation, words), translation.values

        def execute() -> object:
            given = values[words[1]]
            lanes = np.broadcast_to(np.asarray(given), translation.machine.lanes)
            values[words[1]] = np.full_like(lanes, lanes[np.flatnonzero(translation.machine.mask)[0]])
            run()
            values[words[1]] = given
            return None

        return execute

    return broken


SUMS = "operation:reduce_sum/"
DIVERGENT = ["/control:half", "/control:branches", "/control:loop"]
WRONG: dict[str, tuple[Op | Add, Fault, Sequence[str]]] = {
    "additions are lost": (added, every_ninth_lost, ["component:f16", f"{SUMS}component:f16", "component:f32"]),
    "the last component is lost": (
        added,
        last_component_lost,
        ["component:f16/m:1", "component:f16/n:1", f"{SUMS}component:f32"],
    ),
    "additions are doubled": (added, doubled, ["component:f16", f"{SUMS}component:f16"]),
    "sums replace what was there": (added, stored, ["component:f16", "component:f16/invocations:1/workgroups:1", f"{SUMS}component:f32"]),
    "sums are f16": (added, in_half, ["component:f32", f"{SUMS}component:f32", "component:f32/m:1"]),
    "a neighbour is overwritten": (
        added,
        to_the_neighbour,
        [f"{SUMS}component:f16{length}" for length in ("", "/m:1")],
    ),
    "rows are columns": (added, rows_as_columns, ["component:f16/n:8", "component:f16/m:5"]),
    "terms are whole": (added, as_integers, ["component:f16", f"{SUMS}component:f16"]),
    "all invocations add": (OUTER, in_everyone, [f"component:f16{control}" for control in DIVERGENT]),
    "all invocations add vectors": (SUM, in_everyone, [f"{SUMS}component:f16{control}" for control in DIVERGENT]),
    "one matrix is for all": (OUTER, of_first_lane, ["component:f16/spread:turns", "component:f16/spread:blocks"]),
    "one sum is for all": (SUM, of_first_lane, [f"{SUMS}component:f16/spread:{spread}" for spread in ("turns", "blocks", "overlapping")]),
}


def broken(where: Op | Add, fault: Fault) -> Broken:
    return Broken(faults=Faults({where: fault}) if isinstance(where, Op) else Faults(operations={where: fault}))


@pytest.mark.parametrize("what", list(WRONG))
def test_a_wrong_device_fails(what: str) -> None:
    where, fault, cases = WRONG[what]
    for parameters in cases:
        assert verdict_on(f"vector_training[{parameters}]", broken(where, fault)) is Verdict.FAIL, parameters


PAIRED = [f"{SUMS}component:f16/m:{m}" for m in (1, 3, 13, 33)] + [
    f"{SUMS}component:f16/m:7/spread:turns",
    "operation:both/component:f16/m:5",
]


@pytest.mark.parametrize("parameters", PAIRED)
def test_an_addition_in_pairs_is_named(parameters: str) -> None:
    result = judged(f"vector_training[{parameters}]", broken(added, in_pairs))
    assert result.code == "fail.padding"
    matches = {match.id for failure in result.failures for match in failure.matches}
    assert matches == {"vector_training.neighbour_changed"}
    assert "matches: the sums in totals are followed by an element to which zero was added" in result.message


def test_the_right_device_passes() -> None:
    for parameters in {parameters for _, _, cases in WRONG.values() for parameters in cases}:
        assert verdict_on(f"vector_training[{parameters}]", Broken()) is Verdict.PASS, parameters
