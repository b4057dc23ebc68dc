"""Defects of matrices that are not loaded: constants, null and splats that do not reach every component."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from cts.defects.defect import Defect, Substitute, each_and_all, every, named
from cts.reference.evaluate import STEPS
from cts.reference.state import State
from cts.reference.values import MatrixValue
from generators.errors import GeneratorError
from generators.program.construction import MatrixConstant, MatrixNull, MatrixSplat
from generators.program.program import Program
from generators.program.values import Scalar

_Made = MatrixConstant | MatrixSplat


def _keeping(kept: Callable[[int, int], np.ndarray]) -> Substitute:
    """Zero where ``kept`` (rows, columns), a bool array of that shape, is false."""

    def step(state: State, operation: _Made) -> None:
        STEPS[type(operation)](state, operation)
        name = operation.result.name
        bits = state.matrices[name].bits
        zero = bits.dtype.type(0)
        state.matrices[name] = MatrixValue(operation.result.type.component, np.where(kept(*bits.shape[1:]), bits, zero))

    return step


def _first_row(rows: int, columns: int) -> np.ndarray:
    return np.broadcast_to(np.arange(rows)[:, None] == 0, (rows, columns))


def _first_column(rows: int, columns: int) -> np.ndarray:
    return np.broadcast_to(np.arange(columns) == 0, (rows, columns))


def _ones(state: State, operation: MatrixNull) -> None:
    component = operation.result.type.component
    one = np.array(1).astype(component.dtype).view(component.bits_dtype)
    state.matrices[operation.result.name] = MatrixValue(component, np.full((len(state.instances), *operation.result.type.shape), one))


def _first_instance(state: State, operation: MatrixSplat) -> None:
    STEPS[MatrixSplat](state, operation)
    bits = state.matrices[operation.result.name].bits
    if (bits == bits[:1]).all():
        raise GeneratorError("all instances have one scalar, so that this is no defect")
    state.matrices[operation.result.name] = MatrixValue(operation.result.type.component, np.broadcast_to(bits[:1], bits.shape))


_PARTS: tuple[tuple[str, Substitute], ...] = (
    ("filled on its diagonal only", _keeping(lambda rows, columns: np.eye(rows, columns, dtype=bool))),
    ("filled in its first row only", _keeping(_first_row)),
    ("filled in its first column only", _keeping(_first_column)),
    ("filled in its first element only", _keeping(lambda rows, columns: _first_row(rows, columns) & _first_column(rows, columns))),
    ("zero instead of its value", _keeping(lambda rows, columns: np.zeros((rows, columns), bool))),
)


def construction_defects(program: Program) -> Iterator[Defect]:
    """For every constructed matrix of ``program``, and for all of them: only a part of it has its value."""
    splats, nulls = every(program.operations, MatrixSplat), every(program.operations, MatrixNull)
    constants = every(program.operations, MatrixConstant)
    for words, step in _PARTS:
        yield from each_and_all(splats, lambda one: named(one.result), "every constructed matrix", words, step)
        yield from each_and_all(constants, lambda one: f"constant {named(one.result)}", "every constant matrix", words, step)
    yield from each_and_all(nulls, lambda one: f"null {named(one.result)}", "every null matrix", "has ones", _ones)
    if program.instances > 1:
        own = [one for one in splats if isinstance(one.value, Scalar)]
        words = "constructed of the scalar of instance 0 in every instance"
        yield from each_and_all(own, lambda one: named(one.result), "every constructed matrix", words, _first_instance)
