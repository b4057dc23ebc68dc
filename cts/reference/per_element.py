"""OpCooperativeMatrixPerElementOpNV (CM2-PE-*)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.reference.callbacks import Argument, applied
from cts.reference.state import State
from cts.reference.values import MatrixValue
from cts.verdict.expected import Authority
from generators.errors import GeneratorError
from generators.numerics.formats import encode, values
from generators.program.callbacks import ScalarParameter
from generators.program.per_element import ExtraOperand, PerElement, StructOperand, VectorOperand
from generators.program.values import Matrix, ScalarValue

APPLIED = Authority("CM2-PE-03")

Places = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def _own(row: np.ndarray, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return row, column


def per_element(state: State, operation: PerElement, places: Places = _own) -> None:
    """Every element becomes what the function returns for its row, column, value, and the extra operands (CM2-PE-03 to CM2-PE-06).

    ``places`` makes other numbers of the rows and columns, (rows, columns) each: a defect.

    Raises:
        GeneratorError: see ``applied``; or types are not those that the instruction takes (CM2-PE-01, CM2-PE-02).
    """
    type_, function = operation.matrix.type, operation.function
    if operation.result.type != type_ or function.result.component is not type_.component:
        raise GeneratorError(f"{function.name}: the result has the type of the matrix (CM2-PE-01, CM2-PE-02)")
    matrix = state.matrices[operation.matrix.name]
    rows, columns = type_.shape
    shape = len(state.instances), rows, columns
    given = places(*np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"))
    numbers_of_places = []
    for parameter, place in zip(function.parameters[:2], given, strict=True):
        assert isinstance(parameter, ScalarParameter), "rows and columns are scalars"
        numbers_of_places.append(np.broadcast_to(place.astype(parameter.component.dtype), shape))
    extra = [_extra(state, operand) for operand in operation.extra]
    result = applied(state, function, [*numbers_of_places, matrix.numbers, *extra])
    bits = encode(type_.component, np.broadcast_to(result, shape))
    state.matrices[operation.result.name] = MatrixValue(type_.component, bits, type_.component.is_float, authority=APPLIED)


def _extra(state: State, operand: ExtraOperand) -> Argument:
    if isinstance(operand, Matrix):
        return state.matrices[operand.name].numbers
    if isinstance(operand, VectorOperand):
        return [_scalar(state, lane) for lane in operand.lanes]
    if isinstance(operand, StructOperand):
        return [_scalar(state, member) for member in operand.members]
    return _scalar(state, operand)


def _scalar(state: State, value: ScalarValue) -> np.ndarray:
    bits = state.scalar(value).astype(value.component.bits_dtype)
    return values(bits, value.component)[:, None, None]
