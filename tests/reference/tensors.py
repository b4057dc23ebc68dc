"""Tensor layouts that the reference model has evaluated."""

from __future__ import annotations

import numpy as np

from cts.reference.evaluate import perform
from cts.reference.state import initial_state
from cts.reference.tensor import LayoutState, layout_state
from generators.layouts.tensor_writer import LayoutStep, TensorWriter
from generators.program.builder import ProgramBuilder
from generators.program.program import Subcase
from generators.program.values import TensorLayoutType
from generators.types import Scope


def layout(rank: int, *steps: LayoutStep) -> LayoutState:
    """Return the state after the steps."""
    builder = ProgramBuilder(Scope.SUBGROUP)
    last = TensorWriter(builder, "literal").layout("layout", TensorLayoutType(rank), *steps)
    program = builder.build()
    state = initial_state(program, Subcase("one", {}), perform)
    state.run(program.operations)
    return layout_state(state, last)


def numbers(values: np.ndarray) -> list[int]:
    """Return the numbers of the only instance."""
    return [int(n) for n in values[0]]
