"""Constructed matrices (KHR-COMP-01, -02, -04, -05)."""

from __future__ import annotations

import numpy as np

from cts.reference.state import State, evaluates
from cts.reference.values import MatrixValue, UndefinedMatrix
from generators.errors import GeneratorError
from generators.program.construction import MatrixConstant, MatrixNull, MatrixSplat, MatrixUndefined
from generators.program.values import Matrix, ScalarValue


def fill(state: State, result: Matrix, values: np.ndarray) -> None:
    """Set every component of ``result`` to the scope instance's entry in ``values``, (instances,)."""
    component = result.type.component
    bits = values.astype(component.bits_dtype)[:, None, None]
    state.matrices[result.name] = MatrixValue(component, np.broadcast_to(bits, (len(state.instances), *result.type.shape)))


def _checked(result: Matrix, value: ScalarValue) -> None:
    if value.type is not result.type.component:
        raise GeneratorError(
            "KHR-COMP-02", f"{result.name} of {result.type.component} is made from a {value.type}; use one type (KHR-COMP-02)"
        )


@evaluates(MatrixSplat)
def splat(state: State, operation: MatrixSplat) -> None:
    """Initialise every component with the one constituent (KHR-COMP-02), also if it is replicated (KHR-COMP-05)."""
    _checked(operation.result, operation.value)
    fill(state, operation.result, state.scalar(operation.value))


@evaluates(MatrixConstant)
def constant(state: State, operation: MatrixConstant) -> None:
    """Initialise every component with the one constituent, as it is specialized (KHR-COMP-01)."""
    _checked(operation.result, operation.value)
    fill(state, operation.result, state.scalar(operation.value))


@evaluates(MatrixNull)
def null(state: State, operation: MatrixNull) -> None:
    """Set every component to zero, for floats to positive zero (KHR-COMP-04)."""
    fill(state, operation.result, np.zeros(len(state.instances), np.uint64))


@evaluates(MatrixUndefined)
def undefined(state: State, operation: MatrixUndefined) -> None:
    """Leave the result without any value (KHR-COMP-04)."""
    state.matrices[operation.result.name] = UndefinedMatrix(operation.result.name)
