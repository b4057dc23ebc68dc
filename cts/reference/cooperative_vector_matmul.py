"""Matrix-vector multiplies of cooperative vectors (CV-MM-*): the input in its interpretation, matrix and bias from memory, and their sum.

The sum equals a matrix multiply-add with a column vector for B, so exactness, envelope and permitted results are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from cts.reference import float_products, integer_products
from cts.reference.cooperative_vectors import byte_offsets, check_inside
from cts.reference.memory import Memory
from cts.reference.state import State, evaluates
from cts.reference.values import Choice, MatrixValue, reshaped
from cts.verdict.expected import Authority
from generators.errors import GeneratorError, Rule
from generators.numerics.formats import denormals, encode, integers, largest_finite, values
from generators.numerics.rounding import by_magnitude, nearest, neighbours, neighbours_of_integers
from generators.program.conversion import is_float8
from generators.program.cooperative_vector_matmul import (
    BiasInMemory,
    CooperativeVectorMatMul,
    MatrixInMemory,
    interpretation_value,
    transposes,
    vector_layout_value,
)
from generators.program.cooperative_vectors import VECTOR_ALIGNMENT
from generators.program.memory import MATRIX_ALIGNMENT, Array, OpaqueMatrices
from generators.program.values import ScalarValue, extent
from generators.types import ComponentType, Interpretation, MatrixOperands, StorageClass, VectorMatrixLayout

MULTIPLIED, WITHOUT_BIAS, WRAPPED = Authority("CV-MM-01"), Authority("CV-MM-02"), Authority("CV-MM-28")

KEPT_WIDE = "F-CV-3"
"""Position that an f16 input is converted to its 8-bit interpretation."""

NEAREST = "F-CV-17"
"""Position that a float input becomes the nearest number of its interpretation."""

PRECISION = "F-CV-15"
"""Position that factors have all bits of their types, and sums all bits of bias and result."""

_FLOAT8_RULE = "VUID-RuntimeSpirv-OpCooperativeVectorMatrixMulNV-10090"
"""Matrices of 8-bit floats have an optimal layout."""

_RESULTS = ("f16", "f32", "s32", "u32")


@dataclass(frozen=True)
class Operands:
    """The operands of a multiply, in every invocation.

    Attributes:
        matrix: (invocations, M, K), of its interpretation's type.
        vector: (invocations, K, 1), of its interpretation's type.
        wide: the unconverted input, if an implementation may keep it; otherwise None.
        bias: (invocations, M, 1), of its interpretation's type, or zeros of the result's.
        result: component type of the result.
    """

    matrix: MatrixValue
    vector: MatrixValue
    wide: MatrixValue | None
    bias: MatrixValue
    result: ComponentType


# Input


def interpreted(value: MatrixValue, interpretation: Interpretation, columns: int, signed: bool) -> tuple[MatrixValue, MatrixValue | None]:
    """Return ``columns`` elements of an input in its interpretation, (invocations, 1, columns), and the unconverted input if Vulkan lets an
    implementation keep it.

    Args:
        value: the input, of one allowed value.
        signed: whether MatrixBSignedComponents declares integers as signed (CV-MM-13).

    Raises:
        GeneratorError: the input has the wrong number of components (CV-MM-06, CV-MM-07), or the conversion of an element is undefined.
    """
    if not value.is_certain:
        raise GeneratorError(Rule.SEVERAL_VALUES, "the input of a matrix-vector multiply has several allowed values; use exact data")
    if interpretation.packed:
        return unpacked(value, interpretation, columns), None
    if value.bits.shape[2] != columns:
        raise GeneratorError(
            "CV-MM-06", f"an input of {value.bits.shape[2]} components is multiplied by {columns} columns; give it K (CV-MM-06)"
        )
    target = interpretation.component
    if not value.component.is_float:
        return _from_integers(integers(value.bits, value.component, signed), target), None
    numbers = values(value.bits, value.component)
    if not np.isfinite(numbers).all():
        raise GeneratorError(Rule.NOT_FINITE, "an input is NaN or infinite, for which nothing is promised; use finite data (facts.md C30)")
    if target is value.component:
        return value, None
    if not target.is_float:
        return MatrixValue(target, to_nearest_integer(numbers, target)), None
    return _from_floats(value, numbers, target)


def unpacked(value: MatrixValue, interpretation: Interpretation, columns: int) -> MatrixValue:
    """Return the elements packed in 32-bit components, the first in the lowest bits (CV-MM-08).

    Raises:
        GeneratorError: the input is not of u32, or too short (CV-MM-07).
    """
    element = interpretation.component
    if value.component.name != "u32" or value.bits.shape[2] * 4 < columns * element.bytes:
        raise GeneratorError(
            "CV-MM-07",
            f"a packed input of {columns} elements is {value.bits.shape[2]} components of {value.component}; give enough u32 to "
            "hold them (CV-MM-07)",
        )
    count = 4 // element.bytes
    shifts = np.arange(count, dtype=np.uint32) * np.uint32(element.bits)
    parts = (value.bits[..., None] >> shifts) & np.uint32((1 << element.bits) - 1)
    elements = parts.reshape(*value.bits.shape[:2], -1)[:, :, :columns]
    return MatrixValue(element, np.ascontiguousarray(elements.astype(element.bits_dtype)))


def limits(component: ComponentType) -> tuple[int, int]:
    """Return the least and the largest number of an integer type."""
    return (-(1 << component.bits - 1), (1 << component.bits - 1) - 1) if component.is_signed else (0, (1 << component.bits) - 1)


def _from_integers(numbers: np.ndarray, target: ComponentType) -> MatrixValue:
    """Return integers saturated to another integer type (CV-MM-09), or rounded to the nearest even float (CV-MM-11)."""
    if not target.is_float:
        low, high = limits(target)
        clipped = np.clip(numbers.astype(object), low, high) % (1 << target.bits)
        return MatrixValue(target, clipped.astype(target.bits_dtype))
    toward, away = neighbours_of_integers(numbers, target)
    if (np.abs(away) > largest_finite(target)).any():
        raise GeneratorError(Rule.CONVERSION_RANGE, f"an integer input is beyond {target}; make it smaller (facts.md C30)")
    # Use Python integers, so differences of 64-bit integers are exact.
    exact, inner, outer = (np.array([int(one) for one in array.flat], object).reshape(array.shape) for array in (numbers, toward, away))
    below, above = np.abs(exact - inner), np.abs(outer - exact)
    even = (encode(target, toward) & target.bits_dtype.type(1)) == 0
    rounded = np.where((below < above) | ((below == above) & even), toward, away)
    return MatrixValue(target, encode(target, rounded))


def to_nearest_integer(numbers: np.ndarray, target: ComponentType) -> np.ndarray:
    """Return the bits of finite floats rounded to the nearest integer, ties to even, and saturated (CV-MM-10)."""
    low, high = limits(target)
    rounded = np.rint(numbers)
    # Use Python integers: float64 cannot hold the largest 64-bit integers.
    whole = np.array([min(max(int(number), low), high) % (1 << target.bits) for number in rounded.flat], object)
    return np.asarray(whole.reshape(numbers.shape).astype(target.bits_dtype))


def _from_floats(value: MatrixValue, numbers: np.ndarray, target: ComponentType) -> tuple[MatrixValue, MatrixValue | None]:
    """Return floats in another float type, and the input if it has bits that Vulkan lets an implementation keep (CV-MM-29).

    Raises:
        GeneratorError: the rounding of a number depends on the implementation (CV-MM-12), or the conversion of a number beyond the type is
            undefined.
    """
    source = value.component
    if denormals(numbers, source).any():
        raise GeneratorError(
            Rule.DENORMAL, f"a denormal {source} is converted to {target} and may count as zero; use larger numbers (facts.md C29)"
        )
    if (np.abs(numbers) > largest_finite(target)).any():
        raise GeneratorError("CV-MM-12", f"an input is beyond {target}, for which nothing is specified; make it smaller (CV-MM-12)")
    rounded = nearest(target, numbers)
    converted = MatrixValue(target, encode(target, rounded))
    if (rounded == numbers).all():
        return converted, None
    if source.name != "f16" or not is_float8(target):
        raise GeneratorError(
            "CV-MM-12", f"how {source} is rounded to {target} depends on the implementation; use numbers of {target} (CV-MM-12)"
        )
    low, high = neighbours(target, numbers)
    if ((low != high) & (numbers - low == high - numbers)).any():
        raise GeneratorError(
            NEAREST, f"an input is half way between two numbers of {target}, which are equally accurate; use others ({NEAREST})"
        )
    return converted, value


# Matrix and bias


def _memory(state: State, array: Array, what: str) -> Memory:
    """Return the memory that a multiply reads.

    Raises:
        GeneratorError: it may be written while the shader runs (CV-MM-26), or it is not in a buffer (CV-MM-16).
    """
    if array.storage is StorageClass.WORKGROUP:
        raise GeneratorError("CV-MM-16", f"{what} is in workgroup memory; use a buffer (CV-MM-16)")
    if array.role != "input":
        raise GeneratorError(
            "CV-MM-26", f"{what} is in {array.name}, which the program may write while it is read; give it the role input (CV-MM-26)"
        )
    return state.memories[array.name]


def opaque_index(state: State, array: Array, offset: ScalarValue, opaque: OpaqueMatrices, name: str) -> np.ndarray:
    """Return the index of the opaque matrix that begins at each offset in an array, int64, (invocations,).

    Raises:
        GeneratorError: no matrix begins there.
    """
    at = byte_offsets(state, array, offset, 1, name)
    if (at % opaque.bytes).any():
        raise GeneratorError(
            Rule.OPAQUE_OFFSET, f"{name} begins inside a matrix of {array.name}; give an offset that is a multiple of the pitch"
        )
    check_inside(state.memories[array.name], at + opaque.bytes, name)
    return at // opaque.bytes


def check_opaque(array: Array, component: ComponentType, shape: tuple[int, int], layout: VectorMatrixLayout, name: str) -> OpaqueMatrices:
    """Return the opaque matrices of an array.

    Raises:
        GeneratorError: it has none, or different ones.
    """
    opaque = array.opaque
    if opaque is None:
        raise GeneratorError(
            Rule.OPAQUE, f"{name} has layout {layout.name}, whose bytes the device decides; declare {array.name} with opaque matrices"
        )
    if (opaque.component, opaque.rows, opaque.columns, opaque.layout) != (component, *shape, layout):
        raise GeneratorError(
            Rule.OPAQUE_MATRIX,
            f"{name} is {shape[0]}x{shape[1]} {component} in layout {layout.name}, and {array.name} has {opaque.rows}x{opaque.columns} "
            f"{opaque.component} in {opaque.layout.name}: make them agree",
        )
    return opaque


def matrix_offsets(state: State, matrix: MatrixInMemory, rows: int, columns: int, layout: VectorMatrixLayout) -> np.ndarray:
    """Return the byte offset of each element of the matrix that each invocation names, int64, (invocations, rows, columns): as it is
    multiplied, after any transposition (CV-MM-14, CV-MM-17 to CV-MM-20).

    Raises:
        GeneratorError: the layout does not fit the array, component type or transposition, or an address is not aligned or outside.
    """
    component, array, name = interpretation_value(matrix.interpretation).component, matrix.array, f"a matrix of {matrix.array.name}"
    transposed = transposes(matrix.transpose)
    size = component.bytes
    if layout.is_optimal:
        shape = (columns, rows) if transposed else (rows, columns)
        opaque = check_opaque(array, component, shape, layout, name)
        first = opaque_index(state, array, matrix.offset, opaque, name) * opaque.bytes
        tight = np.arange(shape[0] * shape[1], dtype=np.int64).reshape(shape) * size
        return np.asarray(first[:, None, None] + (tight.T if transposed else tight))
    if matrix.stride is None:
        raise GeneratorError("F-CV-1", f"{name} in layout {layout.name} has no stride; give it one (F-CV-1)")
    if transposed:
        raise GeneratorError("CV-MM-21", f"{name} in layout {layout.name} is transposed; use an optimal layout (CV-MM-21)")
    if is_float8(component):
        raise GeneratorError(_FLOAT8_RULE, f"{name} in layout {layout.name} has 8-bit floats; use an optimal layout ({_FLOAT8_RULE})")
    if array.opaque is not None:
        raise GeneratorError(
            Rule.OPAQUE, f"{name} has layout {layout.name}, and the device decides the bytes of {array.name}; use an optimal layout"
        )
    first = byte_offsets(state, array, matrix.offset, MATRIX_ALIGNMENT, name, matrix.inner)
    stride = state.scalar(matrix.stride).astype(np.int64)
    if (stride % VECTOR_ALIGNMENT).any():
        raise GeneratorError(Rule.STRIDE_ALIGNMENT, f"{name} has a stride that is not a multiple of {VECTOR_ALIGNMENT} bytes; align it")
    lines, length = (rows, columns) if layout is VectorMatrixLayout.ROW_MAJOR else (columns, rows)
    check_inside(state.memories[array.name], first + (lines - 1) * stride + length * size, name)
    starts = first[:, None] + np.arange(lines, dtype=np.int64) * stride[:, None]
    offsets = starts[:, :, None] + np.arange(length, dtype=np.int64) * size
    return offsets if layout is VectorMatrixLayout.ROW_MAJOR else np.ascontiguousarray(offsets.transpose(0, 2, 1))


def loaded_matrix(state: State, matrix: MatrixInMemory, rows: int, columns: int, layout: VectorMatrixLayout | None = None) -> MatrixValue:
    """Return the matrix of each invocation, (invocations, rows, columns), of its interpretation's type, without a conversion (CV-MM-14)."""
    component = interpretation_value(matrix.interpretation).component
    memory = _memory(state, matrix.array, f"a matrix of {matrix.array.name}")
    offsets = matrix_offsets(state, matrix, rows, columns, vector_layout_value(matrix.layout) if layout is None else layout)
    return MatrixValue(component, memory.load(memory.held(offsets, component.bytes), component))


def loaded_bias(state: State, bias: BiasInMemory, rows: int) -> MatrixValue:
    """Return ``rows`` consecutive elements for each invocation, without a conversion, (invocations, rows, 1) (CV-MM-15)."""
    component, name = interpretation_value(bias.interpretation).component, f"a bias of {bias.array.name}"
    memory = _memory(state, bias.array, name)
    if bias.array.opaque is not None:
        raise GeneratorError(
            Rule.OPAQUE, f"{name} is in an array of matrices whose bytes the device decides; use an array without opaque matrices"
        )
    first = byte_offsets(state, bias.array, bias.offset, VECTOR_ALIGNMENT, name, bias.inner)
    check_inside(memory, first + rows * component.bytes, name)
    offsets = first[:, None, None] + np.arange(rows, dtype=np.int64)[:, None] * component.bytes
    return MatrixValue(component, memory.load(offsets, component))


# The multiply


def check_types(operation: CooperativeVectorMatMul) -> None:
    """Refuse invalid types.

    Raises:
        GeneratorError: the extension does not allow the type of the result (CV-MM-03), its length is not M (CV-MM-04), a matrix or bias is
            packed, or an operand flag has no meaning here (F-CV-4).
    """
    result = operation.result.type
    if result.component.name not in _RESULTS:
        raise GeneratorError(
            "CV-MM-03", f"{operation.result.name} has components of {result.component}; use one of {', '.join(_RESULTS)} (CV-MM-03)"
        )
    if result.count != extent(operation.rows):
        raise GeneratorError(
            "CV-MM-04", f"{operation.result.name} has {result.count} components and M is {extent(operation.rows)} (CV-MM-04)"
        )
    read = [operation.matrix.interpretation, *([operation.bias.interpretation] if operation.bias else [])]
    if any(interpretation_value(one).packed for one in read):
        raise GeneratorError("CV-MM-24", "a matrix or a bias has a packed interpretation; only an input may")
    allowed = MatrixOperands.B_SIGNED | MatrixOperands.RESULT_SIGNED
    if (operation.operands or MatrixOperands.NONE) & ~allowed:
        raise GeneratorError(
            "F-CV-4", "a matrix-vector multiply has flags for A, C or saturation, which have no meaning here; leave them out (F-CV-4)"
        )


def operands_of(
    state: State,
    operation: CooperativeVectorMatMul,
    matrix: Callable[[State, MatrixInMemory, int, int], MatrixValue] = loaded_matrix,
    bias: Callable[[State, BiasInMemory, int], MatrixValue] = loaded_bias,
) -> Operands:
    """Return the operands of the multiply.

    Args:
        matrix, bias: how they are loaded.

    Raises:
        GeneratorError: an operand or its conversion is undefined.
    """
    check_types(operation)
    rows, columns = extent(operation.rows), extent(operation.columns)
    signed = bool((operation.operands or MatrixOperands.NONE) & MatrixOperands.B_SIGNED)
    vector, wide = interpreted(state.matrices[operation.input.name], interpretation_value(operation.interpretation), columns, signed)
    result = operation.result.type.component
    if operation.bias is None:
        addend = MatrixValue(result, np.zeros((len(state.instances), rows, 1), result.bits_dtype))
    else:
        addend = bias(state, operation.bias, rows)
    column = (len(state.instances), columns, 1)
    return Operands(
        matrix(state, operation.matrix, rows, columns),
        reshaped(vector, column),
        None if wide is None else reshaped(wide, column),
        addend,
        result,
    )


def multiplied(operands: Operands, authority: Authority = MULTIPLIED) -> MatrixValue:
    """Return the matrix times the vector, and the bias added: (invocations, 1, M).

    The expected result is the product with the input in its interpretation. If an implementation may keep an f16 input unconverted, the
    product with that input is permitted (CV-MM-29), and the products with the input rounded in other directions (F-CV-17).

    Args:
        authority: the basis of a float result.

    Raises:
        GeneratorError: integers and floats are mixed, an operand is not finite, a sum may overflow, or two products are permitted and one
            of them is not exact.
    """
    matrix, vector, bias, result = operands.matrix, operands.vector, operands.bias, operands.result
    floats = [component.is_float for component in (matrix.component, vector.component, bias.component, result)]
    if not any(floats):
        sides = ((matrix, MatrixOperands.A_SIGNED), (vector, MatrixOperands.B_SIGNED), (bias, MatrixOperands.C_SIGNED))
        flags = MatrixOperands.NONE
        for side, flag in sides:
            # The interpretation decides how integers are read (F-CV-4).
            flags |= flag if side.component.is_signed else MatrixOperands.NONE
        value = replace(integer_products.multiply_add(matrix, vector, bias, result, flags), authority=WRAPPED)
        return reshaped(value, (len(value.bits), 1, value.bits.shape[1]))
    if not all(floats):
        raise GeneratorError(
            Rule.INTERPRETATIONS, "a matrix-vector multiply mixes integers and floats; no property of a device allows that"
        )
    value = _float_product(matrix, vector, bias, result, authority)
    if operands.wide is None:
        return value
    others = [
        _float_product(matrix, other, bias, result, authority)
        for other in (operands.wide, *other_roundings(operands.wide, vector.component))
    ]
    if not all(one.is_certain for one in (value, *others)):
        raise GeneratorError(
            Rule.INEXACT,
            "an input that may be converted or kept (CV-MM-29) has sums that are not proved exact in both cases; use exact data",
        )
    different = {other.bits.tobytes(): other.bits for other in others if (other.bits != value.bits).any()}
    if not different:
        return value
    permitted = Choice(tuple(different.values()))
    return replace(value, permitted=permitted, authority=replace(authority, position=NEAREST, quality=KEPT_WIDE))


def other_roundings(exact: MatrixValue, target: ComponentType) -> list[MatrixValue]:
    """Return finite floats rounded to ``target`` toward zero, away from zero, down and up: neighbours, of which only the nearer is expected
    (F-CV-17)."""
    numbers, largest = values(exact.bits, exact.component), largest_finite(target)
    low, high = neighbours(target, numbers)
    toward, away = by_magnitude(numbers, low, high)
    return [MatrixValue(target, encode(target, np.clip(one, -largest, largest))) for one in (toward, away, low, high)]


def _float_product(matrix: MatrixValue, vector: MatrixValue, bias: MatrixValue, result: ComponentType, authority: Authority) -> MatrixValue:
    value = float_products.multiply_add(matrix, vector, bias, result)
    if value.authority.quality:
        authority = replace(authority, position=PRECISION, quality=PRECISION)
    return replace(reshaped(value, (len(value.bits), 1, value.bits.shape[1])), authority=authority)


@evaluates(CooperativeVectorMatMul)
def matmul(state: State, operation: CooperativeVectorMatMul) -> None:
    """Multiply a matrix in memory by the vector of each invocation, and add the bias, if there is one.

    Bytes between rows or columns belong to no element and change nothing (F-CV-22).
    """
    authority = MULTIPLIED if operation.bias is not None else WITHOUT_BIAS
    state.matrices[operation.result.name] = multiplied(operands_of(state, operation), authority)
