"""Evaluates a program as a device with a defect would: some steps are replaced, and undefined behaviour stops nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cts.defects.remembering import Remembered
from cts.reference.evaluate import outcome, perform
from cts.reference.memory import Memory
from cts.reference.state import Perform, State, initial_state
from cts.reference.values import MatrixValue
from cts.verdict.expected import Expected
from generators.errors import GeneratorError
from generators.program.control_flow import Loop
from generators.program.operation import Operation
from generators.program.program import Program, Subcase
from generators.program.values import AnyValue, Operand
from generators.program.walking import results
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
) -> Expected:
    """Return the contents of buffers after a dispatch on a device with a defect.

    Args:
        program, subcase: the program and the dispatch.
        substitutes: the wrong steps.
        beyond: the value of each byte loaded from beyond an array; None if such a load is an error.
        before_step: is called before each operation and each round of a loop; it may raise to end the evaluation.
        remembered: the results of operations in earlier evaluations of the subcase; None to compute everything.

    Raises:
        GeneratorError, LookupError, ValueError: the outcome cannot be computed, or the defect accesses memory out of bounds.
    """
    performed = _expecting(substituting(substitutes), before_step)
    if remembered is not None and program.passes is None:
        performed = remembered.performing(performed, substitutes, beyond)
    strict = initial_state(program, subcase, performed)
    state = LenientState(**vars(strict), before_step=before_step)
    if beyond is not None:
        state.memories = {name: LenientMemory(**vars(memory), unknown=beyond) for name, memory in state.memories.items()}
    return outcome(state)


@dataclass
class Trace:
    """What the right program computes in a subcase.

    Attributes:
        steps: how many operations it performs, and how many rounds of loops.
        values: the bits of each value that an operation gives, each time that it gives it; not those that a loop carries.
        state: the state, which has the program's operands.
    """

    state: State
    steps: int = 0
    values: dict[str, list[np.ndarray]] = field(default_factory=dict)

    def bits(self, value: AnyValue | Operand) -> list[np.ndarray]:
        """Return all bits that a value has had; nothing if that is unknown."""
        if isinstance(value, Operand):
            return [np.array([self.state.operand(value)], np.uint64)]
        return self.values.get(value.name, [])


def traced(program: Program, subcase: Subcase) -> Trace:
    """Evaluate the right program.

    Raises:
        GeneratorError: as ``evaluate``.
    """

    def count() -> None:
        trace.steps += 1

    def performed(state: State, operation: Operation) -> None:
        count()
        perform(state, operation)
        if not isinstance(operation, Loop):
            for made in results(operation):
                if type(state.matrices.get(made.name)) is MatrixValue:
                    trace.values.setdefault(made.name, []).append(state.matrices[made.name].bits)
                elif made.name in state.scalars:
                    trace.values.setdefault(made.name, []).append(state.scalars[made.name])

    trace = Trace(LenientState(**vars(initial_state(program, subcase, performed)), before_step=count))
    outcome(trace.state)
    return trace
