"""Evaluates a program: every allowed outcome of one dispatch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from cts.expected import Expected
from cts.reference.construction import splat
from cts.reference.control_flow import leave, loop
from cts.reference.functions import call
from cts.reference.load_store import load, store
from cts.reference.muladd import muladd
from cts.reference.scalars import built_in_index, instance_index, scalar_arithmetic
from cts.reference.selections import branch, switch
from cts.reference.state import State, Step, initial_state
from cts.reference.workgroup import barrier, copy
from generators.program.construction import MatrixSplat
from generators.program.control_flow import Branch, Exit, Loop, Switch
from generators.program.functions import Call
from generators.program.load_store import MatrixLoad, MatrixStore
from generators.program.muladd import MatrixMulAdd
from generators.program.program import Operation, Program, Subcase
from generators.program.scalars import BuiltInIndex, InstanceIndex, ScalarArithmetic
from generators.program.workgroup import Barrier, Copy

STEPS: Mapping[type, Callable[[State, Any], None]] = MappingProxyType(
    {
        MatrixLoad: load,
        MatrixStore: store,
        MatrixSplat: splat,
        MatrixMulAdd: muladd,
        InstanceIndex: instance_index,
        ScalarArithmetic: scalar_arithmetic,
        Loop: loop,
        Copy: copy,
        Barrier: barrier,
        BuiltInIndex: built_in_index,
        Branch: branch,
        Switch: switch,
        Exit: leave,
        Call: call,
    }
)
"""What the specification says of each operation."""

ENVELOPE_NOTE = "float results that are not proved exact are judged by the suite's envelope, a policy and not a rule of the specification"


def _run(state: State, operations: Sequence[Operation]) -> None:
    for operation in operations:
        if not len(state.instances):
            return
        step = state.substitutes.get(operation) if state.substitutes else None
        (step or STEPS[type(operation)])(state, operation)


def evaluate(
    program: Program, subcase: Subcase, substitutes: Mapping[Operation, Step] = MappingProxyType({}), beyond: int | None = None
) -> Expected:
    """Every element that a dispatch of ``program`` with ``subcase`` writes, and what it may be.

    Args:
        program, subcase: what runs.
        substitutes: other steps for some of the operations, to see what a defect would give.
        beyond: the byte that a defect's loads beyond an array give; None where such a load is an error.

    Raises:
        GeneratorError: the specification leaves the outcome undefined, or the data are unfit.
    """
    state = initial_state(program, subcase, substitutes, _run, beyond)
    _run(state, program.operations)
    placed = tuple(placed for array in program.arrays if array.role in ("output", "inout") for placed in state.memories[array.name].placed)
    judged_by_policy = any(p.allowed.kind == "interval" for p in placed)
    return Expected(placed, (ENVELOPE_NOTE,) if judged_by_policy else ())
