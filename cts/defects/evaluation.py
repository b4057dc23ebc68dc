"""Evaluates a program as a device with a defect would: some steps are replaced, and undefined behaviour stops nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np

from cts.defects.remembering import Remembered, arrays_of, follows
from cts.defects.starts import Starts, WatchedMemory, own_values
from cts.reference.evaluate import outcome, perform, written
from cts.reference.memory import Memory
from cts.reference.state import Perform, State, initial_state
from cts.reference.values import MatrixValue
from cts.verdict.expected import Expected, Placed
from generators.errors import GeneratorError
from generators.program.control_flow import Loop
from generators.program.operation import Operation
from generators.program.program import Program, Subcase
from generators.program.values import AnyValue, Operand
from generators.program.walking import regions, results
from generators.types import ComponentType

Substitute = Callable[[State, Any], None]
"""The action that a device with a defect takes in place of an operation."""

UNKNOWN = (GeneratorError, LookupError, ValueError, AttributeError, AssertionError, TypeError, ArithmeticError, StopIteration)
"""The errors of an evaluation if the model cannot say what a device with a defect does: single edits give operations any operands."""


def substituting(substitutes: Mapping[Operation, Substitute], otherwise: Perform = perform) -> Perform:
    """Return a function that performs operations by their substitutes, and all others by ``otherwise``."""

    kinds = {type(operation) for operation in substitutes}

    def performed(state: State, operation: Operation) -> None:
        # Most operations are of other classes, and cost no hash.
        (substitutes.get(operation, otherwise) if type(operation) in kinds else otherwise)(state, operation)

    return performed


def _expecting(performed: Perform, before_step: Callable[[], None]) -> Perform:
    """Return a function that performs operations by ``performed`` and keeps only expected values, not permitted ones.

    A defect then has one outcome. ``before_step`` is called before each operation.
    """

    def expecting(state: State, operation: Operation) -> None:
        before_step()
        performed(state, operation)
        name = getattr(getattr(operation, "result", None), "name", "")
        value = state.matrices.get(name)
        if value is not None and value.permitted is not None:
            state.matrices[name] = replace(value, permitted=None)

    return expecting


def _go_on() -> None:
    """Do nothing before a step."""


@dataclass
class LenientState(State):
    """A state in which a device goes on if the specification leaves a result undefined. ``before_step`` is called before each round of a
    loop."""

    before_step: Callable[[], None] = _go_on

    is_permitted_known: ClassVar[bool] = False

    def begin_round(self) -> None:
        """Begin a round of a loop. Raises what ``before_step`` raises."""
        self.before_step()

    def undefined(self, rule: str, message: str) -> None:
        """Go on."""


@dataclass
class LenientMemory(Memory):
    """Memory that can be read outside of its array: each byte there is ``unknown``."""

    unknown: int = 0

    def outside(self, rule: str, message: str) -> None:
        """Go on."""

    def load(self, offsets: np.ndarray, component: ComponentType) -> np.ndarray:
        """Return the bits of the elements at ``offsets``. Raises GeneratorError like ``Memory.load``."""
        outside = (offsets < 0) | (offsets > len(self.contents) - component.bytes)
        unknown = int.from_bytes(bytes([self.unknown] * component.bytes), "little")
        return np.where(outside, component.bits_dtype.type(unknown), super().load(np.where(outside, 0, offsets), component))


def evaluate_defect(
    program: Program,
    subcase: Subcase,
    substitutes: Mapping[Operation, Substitute],
    beyond: int | None = None,
    before_step: Callable[[], None] = _go_on,
    remembered: Remembered | None = None,
    starts: Starts | None = None,
    watch: Callable[[Placed], None] | None = None,
) -> Expected:
    """Return the contents of buffers after a dispatch on a device with a defect.

    Args:
        program, subcase: the program and the dispatch.
        substitutes: the wrong steps.
        beyond: the value of each byte loaded from beyond an array; None if such a load is an error.
        before_step: is called before each operation and each round of a loop; it may raise to end the evaluation.
        remembered: the results of operations in earlier evaluations of the subcase; None to compute everything.
        starts: the states of the right program, from which to start; None to start with the first operation.
        watch: is called after each store of a matrix; it may raise to end the evaluation.

    Raises:
        GeneratorError, LookupError, ValueError: the outcome cannot be computed, or the defect accesses memory out of bounds.
    """
    performed = _expecting(substituting(substitutes), before_step)
    if remembered is not None:
        performed = remembered.performing(performed, substitutes, beyond)

    def lenient(strict: State) -> State:
        state = LenientState(**{**vars(strict), "perform": performed, "before_step": before_step})
        if beyond is not None:
            state.memories = {name: LenientMemory(**_fields(memory), unknown=beyond) for name, memory in state.memories.items()}
        else:
            state.memories = {name: WatchedMemory(**_fields(memory), watch=watch or _ignore) for name, memory in state.memories.items()}
        return state

    if starts is not None and (place := starts.place(substitutes)) < len(starts.states):
        return written(starts.run(place, lenient))
    return outcome(lenient(initial_state(program, subcase, performed)))


def _ignore(placed: Placed) -> None:
    """Do nothing after a store."""


def _fields(memory: Memory) -> Mapping[str, Any]:
    return {one.name: getattr(memory, one.name) for one in fields(Memory)}


RECORDED = 8
"""The most times that an operation is performed whose states a trace keeps."""


@dataclass
class Trace:
    """The states through which the right program goes in a subcase.

    Attributes:
        state: the state, which has the program's operands.
        starts: the states before the program's own operations.
        steps: how many operations it performs, and how many rounds of loops.
        values: the bits of each value that an operation gives, each time that it gives it; not those that a loop carries.
        before: the states before each operation that only gives values, at most ``RECORDED``.
        times: how often each of these operations is performed.
        stores: how often a matrix is stored to each place, by array and byte offsets.
    """

    state: State
    starts: Starts
    steps: int = 0
    values: dict[str, list[np.ndarray]] = field(default_factory=dict)
    before: dict[Operation, list[State]] = field(default_factory=dict)
    times: Counter[Operation] = field(default_factory=Counter)
    stores: Counter[tuple[str, bytes]] = field(default_factory=Counter)

    def bits(self, value: AnyValue | Operand) -> list[np.ndarray]:
        """Return all bits that a value has had; nothing if that is unknown."""
        if isinstance(value, Operand):
            return [np.array([self.state.operand(value)], np.uint64)]
        return self.values.get(value.name, [])

    def record(self, state: State, operation: Operation) -> None:
        """Keep the state before an operation."""
        if self.state.program.passes is None:
            self.starts.record(state, operation)
        if not follows(operation):
            if not any(regions(operation)):
                self.starts.written()
            return
        self.times[operation] += 1
        kept = self.before.setdefault(operation, [])
        if len(kept) < RECORDED:
            memories = self.starts.memories(state) if any(arrays_of(operation)) else state.memories
            kept.append(replace(own_values(state), perform=perform, memories=memories, outside=None))

    def stored(self, placed: Placed) -> None:
        """Count a store."""
        self.stores[placed.array, placed.offsets.tobytes()] += 1


def traced(program: Program, subcase: Subcase) -> Trace:
    """Evaluate the right program.

    Raises:
        GeneratorError: as ``evaluate``.
    """

    def count() -> None:
        trace.steps += 1

    def performed(state: State, operation: Operation) -> None:
        trace.record(state, operation)
        perform(state, operation)
        if not isinstance(operation, Loop):
            for made in results(operation):
                if type(state.matrices.get(made.name)) is MatrixValue:
                    trace.values.setdefault(made.name, []).append(state.matrices[made.name].bits)
                elif made.name in state.scalars:
                    trace.values.setdefault(made.name, []).append(state.scalars[made.name])

    strict = initial_state(program, subcase, _expecting(performed, count))
    trace = Trace(LenientState(**vars(strict), before_step=count), Starts(program.operations))
    trace.state.memories = {name: WatchedMemory(**vars(memory), watch=trace.stored) for name, memory in strict.memories.items()}
    outcome(trace.state)
    return trace
