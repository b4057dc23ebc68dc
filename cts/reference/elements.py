"""Updates of components: together the components of all invocations are the elements of the matrix (KHR-LEN-02, KHR-COMP-03)."""

from __future__ import annotations

import numpy as np

from cts.reference.state import State, evaluates
from cts.reference.trees import is_defined
from cts.reference.values import MatrixValue
from cts.reference.variables import changed, indices, part
from generators.errors import GeneratorError, Rule
from generators.numerics.formats import encode, largest_finite, smallest_normal, values
from generators.program.elements import (
    ComponentsPlaced,
    ComponentsUpdated,
    ElementFunction,
    MatrixCoordinate,
    MatrixLength,
    OthersCounted,
    RepeatsCounted,
)
from generators.program.values import ScalarValue
from generators.program.variables import Path, Variable


def _number(state: State, operand: ScalarValue) -> np.ndarray:
    """Return the value of a scalar in every instance, in the component's own dtype (floats: float64), (instances, 1, 1)."""
    return values(state.scalar(operand).astype(operand.type.bits_dtype), operand.type)[:, None, None]


def apply(state: State, function: ElementFunction, source: MatrixValue) -> np.ndarray:
    """Return the bits of the function's values.

    Raises:
        GeneratorError: a float result may differ between implementations.
    """
    component, bits = source.component, source.bits
    if component.is_float:
        if function == ElementFunction():
            return bits
        result = source.numbers.copy()
        inputs = result
        if function.factor is not None:
            result = result * _number(state, function.factor)
        if function.addend is not None:
            result = result + _number(state, function.addend)
        rounded = encode(component, result)
        normal = smallest_normal(component)
        unsafe = (values(rounded, component) != result) | (np.abs(result) < normal) | (np.abs(inputs) < normal)
        if unsafe.any() or (np.abs(result) > largest_finite(component)).any():
            raise GeneratorError(
                Rule.INEXACT, "an update of components rounds, overflows, or meets zero or a denormal; choose other data (facts.md C29)"
            )
        return rounded
    for operand, operator in ((function.factor, np.multiply), (function.addend, np.add)):
        if operand is not None:
            bits = operator(bits, state.scalar(operand).astype(component.bits_dtype)[:, None, None])
    return bits


def _get(state: State, variable: Variable, path: Path) -> MatrixValue:
    found = part(state.variables.get(variable.name), indices(state, variable.type, path))
    if not is_defined(found):
        raise GeneratorError(
            Rule.UNINITIALIZED, f"components of variable {variable.name} are used before they are written; store a whole matrix first"
        )
    assert isinstance(found, MatrixValue)
    if not found.is_certain:
        raise GeneratorError(Rule.INEXACT, f"components of variable {variable.name} are not proved exact; update matrices that were loaded")
    return found


@evaluates(MatrixLength)
def length(_: State, operation: MatrixLength) -> None:
    """Raise GeneratorError: the number of components of an invocation is unspecified."""
    raise GeneratorError(
        "F-KHR-4",
        f"{operation.result.name}: the number of an invocation's components is unspecified (F-KHR-4); state the effect of the code",
    )


@evaluates(MatrixCoordinate)
def coordinate(_: State, operation: MatrixCoordinate) -> None:
    """Raise GeneratorError: it is unspecified which elements an invocation holds."""
    raise GeneratorError(
        "F-KHR-4", f"{operation.result.name}: the coordinates of an invocation's components are unspecified; state the effect of the code"
    )


@evaluates(ComponentsPlaced)
def components_placed(state: State, operation: ComponentsPlaced) -> None:
    """Give each element its number, or set the ones above the diagonal to 0 (M1-COORD-01)."""
    old = _get(state, operation.target, ())
    place_elements(state, operation, np.indices(old.bits.shape[1:]))


def place_elements(state: State, operation: ComponentsPlaced, coordinates: np.ndarray) -> None:
    """Set the elements to what the operation makes of their coordinates: rows and columns, (2, rows, columns).

    Raises:
        GeneratorError: a number is not representable in the component type.
    """
    old = _get(state, operation.target, ())
    component, columns = old.component, old.bits.shape[2]
    row, column = coordinates[0], coordinates[1]
    if operation.what == "mask":
        new = np.where(column > row, component.bits_dtype.type(0), old.bits)
    else:
        numbers = (row * (columns + 1) + column).astype(np.float64 if component.is_float else component.bits_dtype)
        bits = encode(component, numbers) if component.is_float else numbers
        if component.is_float and (values(bits, component) != numbers).any():
            raise GeneratorError(
                Rule.COMPONENT_TYPE, f"{component} does not have all numbers of elements; choose another type or a smaller matrix"
            )
        new = np.broadcast_to(bits, old.bits.shape)
    tree = changed(operation.target.type, state.variables.get(operation.target.name), (), MatrixValue(component, np.ascontiguousarray(new)))
    state.set_variable(operation.target.name, tree)


@evaluates(ComponentsUpdated)
def components_updated(state: State, operation: ComponentsUpdated) -> None:
    """Replace every element of the target for which the condition holds with the function of the source's."""
    source = _get(state, operation.source, operation.source_path)
    new = apply(state, operation.function, source)
    if operation.condition == "below" and operation.threshold is not None:
        old = _get(state, operation.target, operation.target_path)
        new = np.where(source.numbers < _number(state, operation.threshold), new, old.bits)
    variable, path = operation.target, indices(state, operation.target.type, operation.target_path)
    tree = changed(variable.type, state.variables.get(variable.name), path, MatrixValue(source.component, new))
    state.set_variable(variable.name, tree)


@evaluates(RepeatsCounted)
def repeats_counted(state: State, operation: RepeatsCounted) -> None:
    """Check that nothing was counted.

    Raises:
        GeneratorError: two elements of a matrix are equal, so the number depends on the implementation (F-KHR-3).
    """
    for numbers in _get(state, operation.variable, ()).numbers:
        if len(np.unique(numbers)) != numbers.size:
            raise GeneratorError(
                Rule.UNEXPECTED_ELEMENTS, f"{operation.variable.name} has equal elements; give each element another number"
            )


@evaluates(OthersCounted)
def others_counted(state: State, operation: OthersCounted) -> None:
    """Check that nothing was counted.

    Raises:
        GeneratorError: an element of the matrix is not as expected, so the number depends on the implementation (F-KHR-3).
    """
    if (_get(state, operation.variable, ()).numbers != _number(state, operation.expected)).any():
        raise GeneratorError(
            Rule.UNEXPECTED_ELEMENTS, f"{operation.variable.name} has elements other than the expected ones; fill it with one number"
        )
