"""Instructions of SPV_NV_cooperative_matrix. Their matrices have no use, and component types determine the signedness of integers."""

from __future__ import annotations

import numpy as np

from cts.embedded.diagnostics import Violation, demanded
from cts.embedded.instructions.matrices.load_store import Place, load_matrix, store_matrix
from cts.embedded.instructions.registry import executes
from cts.embedded.machine.machine import Machine, Run
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.spirv_types import MatrixType
from cts.embedded.types.values import Value
from generators.spirv.enumerants import Op

_MULADD = "SPV_NV_cooperative_matrix OpCooperativeMatrixMulAddNV"


def _place(translation: Translation, pointer: int, stride: int, column_major: int, memory: Words) -> Place:
    by_columns = translation.constant(column_major)
    if by_columns.__class__ is not bool:
        raise Violation("SPV_NV_cooperative_matrix 3.32.8", "Column Major is not a boolean constant")
    return Place(pointer, stride, not by_columns, memory)


@executes(Op.CooperativeMatrixLoadNV)
def _load(translation: Translation, words: Words) -> Run:
    place = _place(translation, words[2], words[3], words[4], words[5:])
    return load_matrix(translation, translation.types[words[0]], place, "OpCooperativeMatrixLoadNV")


@executes(Op.CooperativeMatrixStoreNV)
def _store(translation: Translation, words: Words) -> Run:
    place = _place(translation, words[0], words[2], words[3], words[4:])
    return store_matrix(translation, words[1], place, "OpCooperativeMatrixStoreNV")


def _check_muladd(a: MatrixType, b: MatrixType, c: MatrixType, result: MatrixType) -> None:
    if c != result:
        raise Violation(_MULADD, f"C is a {c}, but the result is a {result}")
    if a.use is not None or b.use is not None or c.use is not None:
        raise Violation(_MULADD, "an operand is a matrix of SPV_KHR_cooperative_matrix")
    if (a.rows, b.columns, a.columns) != (result.rows, result.columns, b.rows):
        raise Violation(_MULADD, f"sizes do not fit: {a} x {b} + {c}")
    if len({a.scope, b.scope, c.scope}) > 1:
        raise Violation(_MULADD, "operands of different scopes")
    if len({m.number.is_float for m in (a, b, c)}) > 1:
        raise Violation(_MULADD, "a multiply-add of integer and floating-point matrices")


@executes(Op.CooperativeMatrixMulAddNV)
def _muladd(translation: Translation, words: Words) -> Run:
    ids = words[2:5]
    result = demanded(translation.types[words[0]], MatrixType, _MULADD, "the result is not a cooperative matrix")
    a, b, c = (translation.matrix_type(i, _MULADD, f"operand {name}") for i, name in zip(ids, "ABC", strict=True))
    _check_muladd(a, b, c, result)
    machine, values = translation.machine, translation.values

    def run() -> Value:
        active = machine.active_instances(result.scope)
        found = [values[id_] for id_ in ids]
        if result.number.is_float:
            wide = [matrix.astype(np.float64) for matrix in found]
            return (wide[0] @ wide[1] + wide[2]).astype(result.number.dtype)
        exact = [_whole(matrix, type_) for matrix, type_ in zip(found, (a, b, c), strict=True)]
        return _integers(machine, exact[0] @ exact[1] + exact[2], result, slice(None) if active is None else active)

    return run


def _whole(matrix: np.ndarray, type_: MatrixType) -> np.ndarray:
    """Return elements as unbounded Python integers."""
    is_signed = type_.number.component.is_signed
    return (matrix.view(type_.number.signed_dtype) if is_signed else matrix).astype(object)


def _integers(machine: Machine, exact: np.ndarray, result: MatrixType, active: slice | np.ndarray) -> np.ndarray:
    bits = result.number.bits
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if result.number.component.is_signed else (0, (1 << bits) - 1)
    if (exact[active] < low).any() or (exact[active] > high).any():
        machine.forbid(_MULADD, f"an element of the result is too large for a {result}")
    wrapped: np.ndarray = (exact & result.number.mask).astype(result.number.dtype)
    return wrapped
