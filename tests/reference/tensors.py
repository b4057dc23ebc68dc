"""Tensor layouts that the reference model has evaluated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cts.reference.evaluate import STEPS
from cts.reference.state import State, initial_state
from cts.reference.tensor import LayoutState, layout_state
from generators.layouts.tensor_writer import LayoutStep, TensorWriter
from generators.program.builder import ProgramBuilder
from generators.program.operation import Operation
from generators.program.program import Subcase
from generators.program.tensor import TensorLayoutType
from generators.types import Scope


def layout(rank: int, *steps: LayoutStep) -> LayoutState:
    """The state after the steps."""
    builder = ProgramBuilder(Scope.SUBGROUP)
    last = TensorWriter(builder, "literal").layout("layout", TensorLayoutType(rank), *steps)

    def run(state: State, operations: Sequence[Operation]) -> None:
        for operation in operations:
            STEPS[type(operation)](state, operation)

    program = builder.build()
    state = initial_state(program, Subcase("one", {}), {}, run, None)
    run(state, program.operations)
    return layout_state(state, last)


def numbers(values: np.ndarray) -> list[int]:
    """Of the only instance."""
    return [int(n) for n in values[0]]
