"""OpCooperativeMatrixPerElementOpNV (CM2-PE-*)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cts.reference.callbacks import Argument, results
from cts.reference.state import State, evaluates
from cts.reference.values import CERTAIN, Knowledge, MatrixValue, Range
from cts.verdict.expected import Authority
from generators.errors import GeneratorError
from generators.numerics.formats import encode, values
from generators.program.per_element import ExtraOperand, PerElement, StructOperand, VectorOperand
from generators.program.values import ScalarValue, is_matrix, is_scalar

APPLIED = Authority("CM2-PE-03")


@evaluates(PerElement)
def per_element(state: State, operation: PerElement) -> None:
    """Replace every element with the function's result for its row, column, value, and the extra operands (CM2-PE-03 to CM2-PE-06).

    Raises:
        GeneratorError: see ``applied``; or the instruction does not accept the types (CM2-PE-01, CM2-PE-02).
    """
    apply(state, operation, arguments(state, operation))


def arguments(state: State, operation: PerElement) -> list[Argument]:
    """Return the row and the column of each element, its value, and the extra operands."""
    rows, columns = operation.matrix.type.shape
    shape = len(state.instances), rows, columns
    found: list[Argument] = []
    for parameter, place in zip(operation.function.parameters[:2], np.indices((rows, columns)), strict=True):
        assert is_scalar(parameter), "rows and columns are scalars"
        found.append(np.broadcast_to(place.astype(parameter.type.dtype), shape))
    return [*found, state.matrices[operation.matrix.name].numbers, *(_extra(state, operand) for operand in operation.extra)]


def apply(state: State, operation: PerElement, given: Sequence[Argument]) -> None:
    """Set the result to the function's result for the arguments ``given``. Raises GeneratorError as ``per_element``."""
    type_, function = operation.matrix.type, operation.function
    assert is_scalar(function.returned), "the function of an operation on elements returns a scalar"
    if operation.result.type != type_:
        raise GeneratorError("CM2-PE-01", f"{operation.result.name} does not have the type of {operation.matrix.name} (CM2-PE-01)")
    if function.returned.type is not type_.component:
        raise GeneratorError("CM2-PE-02", f"{function.name} does not return the component type of {operation.matrix.name} (CM2-PE-02)")
    shape = len(state.instances), *type_.shape
    (returned,) = results(state, function, given, state.instances[:, None, None])
    bits = encode(type_.component, np.broadcast_to(returned.numbers, shape))
    known: Knowledge = CERTAIN
    if returned.range is not None:
        found = returned.range
        known = Range(np.broadcast_to(found.low, shape), np.broadcast_to(found.high, shape), np.broadcast_to(found.center, shape))
    state.matrices[operation.result.name] = MatrixValue(type_.component, bits, type_.component.is_float, known, authority=APPLIED)


def _extra(state: State, operand: ExtraOperand) -> Argument:
    if is_matrix(operand):
        return state.matrices[operand.name].numbers
    if isinstance(operand, VectorOperand):
        return [_scalar(state, lane) for lane in operand.parts]
    if isinstance(operand, StructOperand):
        return [_scalar(state, member) for member in operand.parts]
    return _scalar(state, operand)


def _scalar(state: State, value: ScalarValue) -> np.ndarray:
    bits = state.scalar(value).astype(value.type.bits_dtype)
    return values(bits, value.type)[:, None, None]
