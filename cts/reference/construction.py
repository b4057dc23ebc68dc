"""Constructed matrices and cooperative vectors (KHR-COMP-01, -02, -04, -05; CV-COMP-01, -04)."""

from __future__ import annotations

import numpy as np

from cts.reference.state import State, evaluates
from cts.reference.values import MatrixValue, UndefinedMatrix
from generators.errors import GeneratorError, Rule
from generators.program import construction as language
from generators.program.values import CooperativeVector, CooperativeVectorType, Matrix, MatrixType, ScalarValue, is_matrix


def _filled(state: State, type_: MatrixType | CooperativeVectorType, values: np.ndarray) -> MatrixValue:
    """Return matrices or vectors whose components are ``values``, uint64, that broadcast to (instances, rows, columns)."""
    shape = type_.shape if isinstance(type_, MatrixType) else (1, type_.count)
    bits = values.astype(type_.component.bits_dtype)
    return MatrixValue(type_.component, np.broadcast_to(bits, (len(state.instances), *shape)))


def check_component(result: Matrix | CooperativeVector, value: ScalarValue) -> None:
    """Raise GeneratorError if a scalar that becomes a component of ``result`` has another type."""
    if value.type is not result.type.component:
        rule = "KHR-COMP-02" if is_matrix(result) else "CV-COMP-01"
        raise GeneratorError(rule, f"{result.name} of {result.type.component} is made from a {value.type}; use one type ({rule})")


@evaluates(language.MatrixSplat, language.CooperativeVectorSplat)
def splat(state: State, operation: language.MatrixSplat | language.CooperativeVectorSplat) -> None:
    """Initialise every component with the one constituent (KHR-COMP-02), also if it is replicated (KHR-COMP-05, CV-COMP-04)."""
    result, value = operation.result, operation.value
    check_component(result, value)
    state.matrices[result.name] = _filled(state, result.type, state.scalar(value)[:, None, None])


@evaluates(language.MatrixConstant, language.CooperativeVectorConstant)
def constant(state: State, operation: language.MatrixConstant | language.CooperativeVectorConstant) -> None:
    """Make the constant. Raises GeneratorError as ``constant_value``."""
    state.matrices[operation.result.name] = constant_value(state, operation)


def constant_value(state: State, operation: language.MatrixConstant | language.CooperativeVectorConstant) -> MatrixValue:
    """Return the value of the constituents, as they are specialized (KHR-COMP-01, CV-COMP-01): one for each component of a vector, or one
    for all components.

    Raises:
        GeneratorError: their number is neither of the two, or they have another type.
    """
    result, type_, values = operation.result, operation.result.type, operation.values
    if len(values) != (1 if operation.replicated or isinstance(type_, MatrixType) else type_.count):
        raise GeneratorError(Rule.OPERAND_COUNT, f"{result.name} of {type_} has {len(values)} constituents; give one for each component")
    for value in values:
        check_component(result, value)
    return _filled(state, type_, np.array([state.operand(value) for value in values], np.uint64))


@evaluates(language.MatrixNull, language.CooperativeVectorNull)
def null(state: State, operation: language.MatrixNull | language.CooperativeVectorNull) -> None:
    """Set every component to zero (KHR-COMP-04)."""
    state.matrices[operation.result.name] = null_value(state, operation.result.type)


def null_value(state: State, type_: MatrixType | CooperativeVectorType) -> MatrixValue:
    """Return zeros; for floats, positive zeros."""
    return _filled(state, type_, np.zeros(1, np.uint64))


@evaluates(language.MatrixUndefined, language.CooperativeVectorUndefined)
def undefined(state: State, operation: language.MatrixUndefined | language.CooperativeVectorUndefined) -> None:
    """Leave the result without any value (KHR-COMP-04)."""
    state.matrices[operation.result.name] = UndefinedMatrix(operation.result.name)
