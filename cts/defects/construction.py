"""Defects of matrices that are not loaded: constants, nulls and splats in which only some elements have the right value or sign."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from cts.defects.defect import Defect, each_and_all, every, named
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from cts.reference.evaluate import perform
from cts.reference.state import State
from cts.reference.values import MatrixValue
from generators.errors import GeneratorError, Rule
from generators.numerics.formats import encode, sign_bit
from generators.program.construction import MatrixConstant, MatrixNull, MatrixSplat
from generators.program.program import Program
from generators.program.values import Operand, Value

_Made = MatrixConstant | MatrixSplat


def _keeping(kept: Callable[[int, int], np.ndarray]) -> Substitute:
    """Build a step that gives zero where ``kept`` (rows, columns), a bool array of that shape, is false."""

    def step(state: State, operation: _Made) -> None:
        perform(state, operation)
        name = operation.result.name
        bits = state.matrices[name].bits
        zero = bits.dtype.type(0)
        state.matrices[name] = MatrixValue(operation.result.type.component, np.where(kept(*bits.shape[1:]), bits, zero))

    return step


def _unsigned_rows(state: State, operation: _Made) -> None:
    """Make every other row positive. NVIDIA's 580.159.04 does this to constants of use B and 8x8 components of f16."""
    perform(state, operation)
    component, name = operation.result.type.component, operation.result.name
    bits = state.matrices[name].bits.copy()
    bits[:, ::2] &= bits.dtype.type(sign_bit(component) - 1)
    state.matrices[name] = MatrixValue(component, bits)


def _is_negative(operation: _Made) -> bool:
    """Tell whether the value is a float below zero that is known when the pipeline is made."""
    value, component = operation.value, operation.result.type.component
    if not isinstance(value, Operand) or value.value is None or not component.is_float:
        return False
    return bool(value.value & sign_bit(component))


def _first_row(rows: int, columns: int) -> np.ndarray:
    return np.broadcast_to(np.arange(rows)[:, None] == 0, (rows, columns))


def _first_column(rows: int, columns: int) -> np.ndarray:
    return np.broadcast_to(np.arange(columns) == 0, (rows, columns))


def _ones(state: State, operation: MatrixNull) -> None:
    component = operation.result.type.component
    one = encode(component, np.array(1))
    state.matrices[operation.result.name] = MatrixValue(component, np.full((len(state.instances), *operation.result.type.shape), one))


def _first_instance(state: State, operation: MatrixSplat) -> None:
    perform(state, operation)
    bits = state.matrices[operation.result.name].bits
    if (bits == bits[:1]).all():
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "all instances have one scalar, so this is not a defect")
    state.matrices[operation.result.name] = MatrixValue(operation.result.type.component, np.broadcast_to(bits[:1], bits.shape))


_PARTS: tuple[tuple[str, Substitute], ...] = (
    ("diagonal_only", _keeping(lambda rows, columns: np.eye(rows, columns, dtype=bool))),
    ("first_row_only", _keeping(_first_row)),
    ("first_column_only", _keeping(_first_column)),
    ("first_element_only", _keeping(lambda rows, columns: _first_row(rows, columns) & _first_column(rows, columns))),
    ("zero", _keeping(lambda rows, columns: np.zeros((rows, columns), bool))),
)


def _name(operation: _Made | MatrixNull) -> str:
    return named(operation.result)


@defects_of("splat", _Made, MatrixNull)
def construction_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of each constructed matrix of ``program``, and of all of them: only a part of it has its value, or its sign."""
    splats, nulls = every(program.operations, MatrixSplat), every(program.operations, MatrixNull)
    constants = every(program.operations, MatrixConstant)
    for part, step in _PARTS:
        yield from each_and_all(splats, f"splat.{part}", "constructed", _name, step)
        yield from each_and_all(constants, f"constant.{part}", "constant", _name, step)
    made: list[_Made] = [*constants, *splats]
    negative = [one for one in made if _is_negative(one)]
    yield from each_and_all(negative, "constant.sign_lost", "negative", _name, _unsigned_rows)
    yield from each_and_all(nulls, "null_constant.ones", "null_matrix", _name, _ones)
    if program.instances > 1:
        own = [one for one in splats if isinstance(one.value, Value)]
        yield from each_and_all(own, "splat.scalar_of_first_instance", "constructed", _name, _first_instance)
