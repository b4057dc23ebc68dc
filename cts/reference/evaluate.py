"""Evaluates a program: every allowed outcome of one dispatch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cts.reference.state import Perform, State, evaluates, initial_state
from cts.reference.variables import initialize
from cts.verdict.expected import Expected, Interval
from generators.program.program import Program, Subcase
from generators.types import Scope

ENVELOPE_NOTE = "float results that are not proved exact are judged by the suite's envelope, a policy and not a rule of the specification"


perform: Perform = evaluates.read
"""Performs an operation as the specification states."""


def empty_state() -> State:
    """Return a state of one scope instance without memory, for functions that use nothing from outside."""
    return initial_state(Program((), (), (), Scope.SUBGROUP), Subcase("none", {}), perform)


def evaluate(program: Program, subcase: Subcase, performed: Perform = perform) -> Expected:
    """Return every element that a dispatch of ``program`` with ``subcase`` writes, with its allowed values.

    Args:
        program, subcase: the program and its data.
        performed: performs each operation; an observer, which calls ``perform``, may replace it.

    Raises:
        GeneratorError: the specification leaves the outcome undefined, or the data are unfit.
    """
    return outcome(initial_state(program, subcase, performed))


def _passes(state: State) -> Iterator[State]:
    """Yield the state of each pass, in order. All have the same memory."""
    passes, subcase = state.program.passes, state.subcase
    if passes is None:
        yield state
        return
    for number in range(subcase.operands[passes.operand.name]):
        given = replace(subcase, operands={**subcase.operands, passes.operand.name: number})
        yield replace(state.apart(state.instances, None), subcase=given)


def outcome(state: State) -> Expected:
    """Run the program of a state from the start, and return its outcome. Raises GeneratorError as ``evaluate``."""
    program = state.program
    for one in _passes(state):
        initialize(one, program.variables)
        one.run(program.operations)
    return written(state)


def written(state: State) -> Expected:
    """Return the outcome of a program whose operations have run."""
    program = state.program
    every = [state.memories[array.name] for array in program.arrays if array.role in ("output", "inout")]
    placed = tuple(placed for memory in every for placed in (*memory.placed, *memory.background))
    judged_by_policy = any(isinstance(p.expected, Interval) and p.expected.envelope is not None for p in placed)
    return Expected(placed, (ENVELOPE_NOTE,) if judged_by_policy else ())
