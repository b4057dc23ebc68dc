"""A multiply-add that uses C as its accumulator: over several fragments of K it leaves a partial sum in C, where a later use finds it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cts.defects.defect import Defect, each_and_all, every, named
from cts.defects.evaluation import Substitute
from cts.reference.muladd import muladd, multiply_add
from cts.reference.state import State
from cts.reference.values import MatrixValue, join, select
from generators.errors import GeneratorError
from generators.program.muladd import MatrixMulAdd
from generators.program.program import Program

_FRAGMENTS = (8, 16, 32)
"""Columns of A that hardware, or a driver's lowering, takes at once."""


def _part(value: MatrixValue, axis: int, count: int) -> MatrixValue:
    kept = (slice(None),) * axis + (slice(0, count),)
    return MatrixValue(value.component, np.ascontiguousarray(value.bits[kept]))


def _overwriting(fragment: int) -> Substitute:
    def step(state: State, operation: MatrixMulAdd) -> None:
        a, b, c = (state.matrices[matrix.name] for matrix in (operation.a, operation.b, operation.c))
        # The last fragment goes from C to the result, so that C keeps the sum of those before it.
        count = a.bits.shape[2] - fragment
        if count <= 0:
            raise GeneratorError("one fragment leaves no partial sum")
        muladd(state, operation)
        component = operation.c.type.component
        _overwrite(state, operation.c.name, multiply_add(_part(a, 2, count), _part(b, 1, count), c, component, operation.operands))

    return step


def _overwrite(state: State, name: str, value: MatrixValue) -> None:
    """Here and in all that this state is a part of: registers outlast the iteration or the branch that writes to them."""
    state.matrices[name] = value
    outside = state.outside
    if outside is not None and outside.activation is state.activation and name in outside.matrices:
        here = outside.positions(state.instances)
        others = np.setdiff1d(np.arange(len(outside.instances)), here)
        kept = [(others, select(outside.matrices[name], others))] if len(others) else []
        _overwrite(outside, name, join([(here, value), *kept]))


def overwritten_defects(program: Program) -> Iterator[Defect]:
    """For every multiply-add of ``program``, and for all of them: its C is overwritten."""
    known = [(operation, operation.a.type.columns) for operation in every(program.operations, MatrixMulAdd)]
    for fragment in _FRAGMENTS:
        long = [operation for operation, columns in known if isinstance(columns, int) and columns > fragment]
        yield from each_and_all(
            long,
            "multiply_add.c_overwritten",
            "operand_c",
            lambda one: named(one.c),
            _overwriting(fragment),
            also=lambda one: {"result": one.result.name},
            fragment=fragment,
        )
