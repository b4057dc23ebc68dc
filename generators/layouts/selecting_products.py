"""Multiply-adds of a loaded matrix with exact results that still depend on all of its elements."""

from __future__ import annotations

import numpy as np

from generators.layouts.matrix_arrays import matrix_contents, matrix_in, matrix_out
from generators.program.builder import ProgramBuilder
from generators.program.values import Matrix, MatrixType
from generators.property_rows import PropertyRow
from generators.types import COMPONENT_TYPES, ComponentType, Use

LARGEST = 31
"""Largest magnitude at which a few whole numbers add up exactly in the bits that a multiply-add must keep."""

_LARGEST_ADDEND = 100_000
"""Largest magnitude of whole numbers that are added to sums of integers."""

MULTIPLIED = tuple(COMPONENT_TYPES[name] for name in ("f16", "bf16", "s8", "u8"))
"""The component types of matrices that are multiplied."""


def is_multiplied(type_: MatrixType) -> bool:
    """Return whether a matrix can be multiplied: it is an A or B of 8-bit integers or 16-bit floats."""
    return type_.use is not Use.ACCUMULATOR and type_.component in MULTIPLIED


def other_type(type_: MatrixType) -> MatrixType:
    """Return the type of the other factor for a matrix of ``type_``. It has a width that devices support: eight if the inner dimension of
    the matrix is eight, otherwise 16."""
    rows, columns = type_.shape
    inner = columns if type_.use is Use.A else rows
    free = 8 if inner == 8 else 16
    if type_.use is Use.A:
        return MatrixType(type_.component, type_.scope, inner, free, Use.B)
    return MatrixType(type_.component, type_.scope, free, inner, Use.A)


def selecting(type_: MatrixType, instances: int, rng: np.random.Generator) -> np.ndarray:
    """Draw a matrix of ``other_type``, uint8, for each instance: 1 or -1 at a few places of each line. Each element of the other factor is
    taken once for each line of the result."""
    inner, free = (type_.shape[0], type_.shape[1]) if type_.use is Use.B else (type_.shape[1], type_.shape[0])
    lines = np.zeros((instances, inner, free))
    for line in lines:
        places = np.arange(max(inner, free)) % inner
        line[places, rng.permutation(free)[np.arange(len(places)) % free]] = rng.choice(np.array([-1.0, 1.0]), len(places))
    numbers = lines if type_.use is Use.B else lines.transpose(0, 2, 1)
    return matrix_contents(type_, np.ascontiguousarray(numbers).astype(type_.component.dtype))


def multiply(builder: ProgramBuilder, matrix: Matrix) -> None:
    """Multiply by a matrix ``other`` of the other use, add a matrix ``addend``, and store the result to ``target``."""
    rows, columns = matrix.type.shape
    component, scope = matrix.type.component, matrix.type.scope
    is_a = matrix.type.use is Use.A
    inner = columns if is_a else rows
    factor_type = other_type(matrix.type)
    m, n = (rows, factor_type.shape[1]) if is_a else (factor_type.shape[0], columns)
    total = _sum_type(component)
    other = matrix_in(builder, "other", factor_type)
    addend_type = MatrixType(total, scope, m, n, Use.ACCUMULATOR)
    addend = matrix_in(builder, "addend", addend_type)
    operands = None if component.is_float else PropertyRow(m, n, inner, component, component, total, total, False).operands
    a, b = (matrix, other) if is_a else (other, matrix)
    matrix_out(builder, "target", builder.muladd("product", addend_type, a, b, addend, operands))


def _sum_type(component: ComponentType) -> ComponentType:
    if component.is_float:
        return COMPONENT_TYPES["f32"]
    return COMPONENT_TYPES["s32" if component.is_signed else "u32"]


def whole_number_bytes(component: ComponentType, count: int, limit: int, rng: np.random.Generator) -> np.ndarray:
    """Draw ``count`` whole numbers with magnitudes of at most ``limit``, and return the bytes of these elements, uint8."""
    low = -limit if component.is_float or component.is_signed else 0
    return np.ascontiguousarray(rng.integers(low, limit, count, endpoint=True).astype(component.dtype)).view(np.uint8)


def factor_or_addend(
    name: str, type_: MatrixType, component: ComponentType, instances: int, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw the array ``other`` or ``addend`` of a multiply with a matrix of ``type_``; uint8.

    Args:
        component, count: the component type and the length of the array.
        instances: scope instances; each has a matrix in the array.
    """
    if not type_.component.is_float:
        return whole_number_bytes(component, count, LARGEST if name == "other" else _LARGEST_ADDEND, rng)
    if name == "addend":
        return whole_number_bytes(component, count, LARGEST, rng)
    return selecting(other_type(type_), instances, rng)
