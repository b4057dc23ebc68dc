"""OpCooperativeMatrixPerElementOpNV (SPV_NV_cooperative_matrix2, 3.49.9)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.embedded.diagnostics import Violation
from cts.embedded.instructions.matrices.callbacks import Callback, Lanes
from cts.embedded.instructions.registry import executes
from cts.embedded.machine.machine import Machine, Run
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.shapes import is_int32
from cts.embedded.types.spirv_types import MatrixType, Number, PointerType, Type
from cts.embedded.types.values import UNDEFINED, Partly, Undefined, Value, partly
from generators.spirv.enumerants import Op, StorageClass

_WHAT = "OpCooperativeMatrixPerElementOpNV"
_Argument = Callable[[Lanes, np.ndarray], Value]
"""Returns an argument of the calls, from their lanes and the scope instances that execute."""


@executes(Op.CooperativeMatrixPerElementOpEXT)
def _per_element(translation: Translation, words: Words) -> Run:
    matrix = translation.matrix_type(words[2], "CM2-PE-01", "the matrix")
    if translation.types[words[0]] != matrix:
        raise Violation("CM2-PE-01", f"the result does not have the matrix's type, {matrix}")
    callback = Callback(translation, Op.CooperativeMatrixPerElementOpEXT, matrix, words[3], "CM2-PE-02", "Func")
    _check(translation, callback, matrix, words[4:])
    arguments = [_elements(translation, words[2])]
    arguments += [_operand(translation, callback, id_) for id_ in words[4:]]
    machine = translation.machine
    rows, columns, number = matrix.rows, matrix.columns, matrix.number
    row, column = (np.ravel(i).astype(np.uint32) for i in np.indices((rows, columns)))
    count, instances = rows * columns, machine.instances(matrix.scope)

    def run() -> Value:
        active = _active(machine, matrix, instances)
        lanes = Lanes(matrix.scope, np.repeat(active, count))
        places = [np.tile(row, active.size), np.tile(column, active.size)]
        found = callback.call(lanes, [*places, *(argument(lanes, active) for argument in arguments)])
        return _as_matrix(found, active, (instances, rows, columns), number)

    return run


def _active(machine: Machine, matrix: MatrixType, instances: int) -> np.ndarray:
    active = machine.active_instances(matrix.scope)
    return np.arange(instances) if active is None else active


def _check(translation: Translation, callback: Callback, matrix: MatrixType, operands: Words) -> None:
    type_ = callback.type
    if type_.result != matrix.number:
        raise Violation("CM2-PE-02", f"{callback.what} does not return the component type of a {matrix}")
    if len(type_.parameters) < 3:
        raise Violation("CM2-PE-02", f"{callback.what} has {len(type_.parameters)} parameters; row, column and element are needed")
    if not all(map(is_int32, type_.parameters[:2])):
        raise Violation("CM2-PE-02", f"{callback.what}: the first two parameters are not 32-bit integers")
    if type_.parameters[2] != matrix.number:
        raise Violation("CM2-PE-02", f"{callback.what}: the third parameter does not have the component type of a {matrix}")
    if len(type_.parameters) != 3 + len(operands):
        raise Violation("CM2-PE-04", f"{callback.what} has {len(type_.parameters)} parameters, for {3 + len(operands)} arguments")
    for parameter, id_ in zip(type_.parameters[3:], operands, strict=True):
        _check_operand(callback, matrix, parameter, translation.type_of[id_])


def _check_operand(callback: Callback, matrix: MatrixType, parameter: Type, given: Type) -> None:
    if isinstance(given, PointerType) and given.storage is not StorageClass.PhysicalStorageBuffer:
        # SPIR-V lists the instructions that may have a logical pointer as an operand. The extension does not add this one.
        raise Violation("SPIR-V 2.16.1", f"an operand is a pointer to {given.storage.name} storage; only addresses may be")
    if not isinstance(given, MatrixType):
        if given != parameter:
            raise Violation("CM2-PE-04", f"{callback.what}: an operand does not have its parameter's type")
    elif given != matrix:
        raise Violation("CM2-PE-05", f"{callback.what}: an operand is a {given}, but the matrix is a {matrix}")
    elif parameter != given.number:
        raise Violation("CM2-PE-05", f"{callback.what}: the parameter of a matrix operand does not have its component type")


def _operand(translation: Translation, callback: Callback, id_: int) -> _Argument:
    type_, values = translation.type_of[id_], translation.values
    if isinstance(type_, MatrixType):
        return _elements(translation, id_)
    name = translation.name(id_)
    return lambda lanes, _: callback.per_element(lanes, type_, values[id_], f"the operand {name}")


def _elements(translation: Translation, id_: int) -> _Argument:
    """Return a function that returns the elements of a matrix, row after row."""
    values = translation.values

    def elements(_: Lanes, active: np.ndarray) -> Value:
        matrix = values[id_]
        if matrix is UNDEFINED:
            return UNDEFINED
        if isinstance(matrix, Partly):
            return partly(matrix.value[active].ravel(), matrix.defined[active].ravel())
        return matrix[active].ravel()

    return elements


def _as_matrix(found: Value, active: np.ndarray, shape: tuple[int, int, int], number: Number) -> Value:
    """Return the results of the calls as a matrix, with zeros in instances that do not execute."""
    if found is UNDEFINED:
        return UNDEFINED
    result = np.zeros(shape, number.dtype)
    inner = (active.size, *shape[1:])
    if isinstance(found, Undefined):
        assert isinstance(found, Partly)
        defined = np.ones(shape, bool)
        result[active], defined[active] = found.value.reshape(inner), found.defined.reshape(inner)
        return partly(result, defined)
    result[active] = found.reshape(inner) if isinstance(found, np.ndarray) else found
    return result
