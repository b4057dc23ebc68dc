"""Defects of matrix-vector multiplies: wrong input, matrix or bias, or a wrong sum."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cts.defects.defect import Defect, Each, every
from cts.defects.edits import Bend, Edit, in_elements, of_first, reread, zero
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from cts.reference.cooperative_vector_matmul import (
    Operands,
    loaded_bias,
    loaded_matrix,
    matrix_offsets,
    multiplied,
    operands_of,
    unpacked,
)
from cts.reference.state import State
from cts.reference.values import MatrixValue, reshaped
from generators.errors import GeneratorError, Rule
from generators.numerics.formats import encode, integers, is_nan, values
from generators.numerics.rounding import nearest
from generators.program.conversion import is_float8
from generators.program.cooperative_vector_matmul import (
    BiasInMemory,
    CooperativeVectorMatMul,
    MatrixInMemory,
    interpretation_value,
    transposes,
    vector_layout_value,
)
from generators.program.program import Program
from generators.program.values import extent
from generators.types import COMPONENT_TYPES, INTERPRETATIONS, ComponentType, MatrixOperands, VectorMatrixLayout, of_other_sign

Change = Callable[[State, CooperativeVectorMatMul, Operands], Operands]
"""Takes the right operands of a multiply, and returns the operands that a device uses instead."""


def _without_nan(value: MatrixValue) -> tuple[MatrixValue, np.ndarray]:
    """Return a value with zeros in place of NaN, and a bool array that says where NaN was."""
    nans = is_nan(value.bits, value.component)
    return (replace(value, bits=np.where(nans, 0, value.bits).astype(value.bits.dtype)) if nans.any() else value), nans


def _give(state: State, operation: CooperativeVectorMatMul, operands: Operands, poisoned: np.ndarray | None = None) -> None:
    """Compute the result of wrong operands.

    Wrong operands may come from memory around the right ones. A NaN among them makes its component of the result NaN.

    Args:
        poisoned: further components of the result that are NaN, bool, (invocations, M).

    Raises:
        GeneratorError: the result cannot be computed: a number is infinite, or sums round and a component is NaN.
    """
    (matrix, in_row), (bias, in_bias) = _without_nan(operands.matrix), _without_nan(operands.bias)
    value = replace(multiplied(replace(operands, matrix=matrix, bias=bias, wide=None)), permitted=None)
    nans = in_row.any(axis=2) | in_bias[:, :, 0]
    if poisoned is not None:
        nans |= poisoned
    if nans.any():
        if not value.is_certain:
            raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "sums that round have components that are NaN")
        bits = np.where(nans[:, None], encode(value.component, np.array(np.nan)), value.bits).astype(value.bits.dtype)
        value = MatrixValue(value.component, bits, computed=True, authority=value.authority)
    state.matrices[operation.result.name] = value


def _with(change: Change) -> Substitute:
    """Build a step that multiplies other operands."""

    def step(state: State, operation: CooperativeVectorMatMul) -> None:
        _give(state, operation, change(state, operation, operands_of(state, operation)))

    return step


def _edited(**edits: Edit) -> Substitute:
    """Build a step that edits the operands ``matrix``, ``vector`` and ``bias`` that are named."""

    def change(_: State, __: CooperativeVectorMatMul, operands: Operands) -> Operands:
        edited: dict[str, Any] = {name: edit(getattr(operands, name)) for name, edit in edits.items()}
        return replace(operands, **edited)

    return _with(change)


def _of_other(change: Callable[[State, CooperativeVectorMatMul], CooperativeVectorMatMul]) -> Substitute:
    """Build a step that executes a changed instruction."""

    def step(state: State, operation: CooperativeVectorMatMul) -> None:
        _give(state, operation, operands_of(state, change(state, operation)))

    return step


def _bent(operand: str, bend: Bend) -> Substitute:
    """Build a step that reads another scalar, as ``reread``."""
    return _of_other(lambda state, operation: reread(state, operation, operand, bend))


def _as_elements(part: str) -> Substitute:
    """Build a step that counts the offset of the matrix or the bias in elements of its array."""

    def change(state: State, operation: CooperativeVectorMatMul) -> CooperativeVectorMatMul:
        return reread(state, operation, f"{part}.offset", in_elements(getattr(operation, part).array))

    return _of_other(change)


def _by_other_sign(value: MatrixValue) -> MatrixValue:
    return replace(value, component=of_other_sign(value.component))


def _as_other_float8(value: MatrixValue) -> MatrixValue:
    return replace(value, component=_OTHER_FLOAT8[value.component])


def _first_row(value: MatrixValue) -> MatrixValue:
    return replace(value, bits=np.broadcast_to(value.bits[:, :1], value.bits.shape))


# The input


def _numbers(state: State, operation: CooperativeVectorMatMul) -> np.ndarray:
    """Return the numbers of the input before any conversion, (invocations, components): float64, or Python's integers."""
    value = state.matrices[operation.input.name]
    if value.component.is_float:
        return np.asarray(values(value.bits, value.component)[:, 0])
    return np.asarray(integers(value.bits, value.component, _is_signed(operation))[:, 0].astype(object))


def _is_signed(operation: CooperativeVectorMatMul) -> bool:
    return bool((operation.operands or MatrixOperands.NONE) & MatrixOperands.B_SIGNED)


def _as_integers(whole: np.ndarray, component: ComponentType) -> MatrixValue:
    """Return Python's integers, (invocations, K), as a column of an integer type; bits beyond the type are lost."""
    bits = np.array([int(one) % (1 << component.bits) for one in whole.flat], object).reshape(whole.shape)
    return MatrixValue(component, bits.astype(component.bits_dtype)[:, :, None])


def _rounded(rounding: Callable[[np.ndarray], np.ndarray]) -> Change:
    """Return a function that converts the floats of the input to integers with another rounding."""

    def change(state: State, operation: CooperativeVectorMatMul, operands: Operands) -> Operands:
        component = operands.vector.component
        low, high = component.limits
        whole = np.clip(rounding(_numbers(state, operation)), low, high)
        return replace(operands, vector=_as_integers(whole, component))

    return change


def _half_away(numbers: np.ndarray) -> np.ndarray:
    return np.asarray(np.copysign(np.floor(np.abs(numbers) + 0.5), numbers))


def _wrapped(state: State, operation: CooperativeVectorMatMul, operands: Operands) -> Operands:
    """Convert without saturation."""
    numbers = _numbers(state, operation)
    whole = np.rint(numbers) if state.matrices[operation.input.name].component.is_float else numbers
    return replace(operands, vector=_as_integers(whole, operands.vector.component))


def _sums(operands: Operands, vectors: np.ndarray) -> np.ndarray:
    """Return the sums for vectors (invocations, K), (invocations, M), as exact Python numbers: integers, or floats of exact inputs."""
    sides = (operands.matrix, operands.bias)
    matrix, bias = (integers(one.bits, one.component, one.component.is_signed).astype(object) for one in sides)
    return np.asarray((matrix @ vectors.astype(object)[:, :, None] + bias)[:, :, 0])


def _set_integers(state: State, operation: CooperativeVectorMatMul, sums: np.ndarray) -> None:
    value = _as_integers(sums, operation.result.type.component)
    state.matrices[operation.result.name] = replace(value, bits=value.bits.swapaxes(1, 2))


def _not_converted(state: State, operation: CooperativeVectorMatMul) -> None:
    """Multiply by the unconverted numbers of the input, and round the sum toward zero."""
    _set_integers(state, operation, _sums(operands_of(state, operation), _numbers(state, operation)))


def _high_bits_first(state: State, operation: CooperativeVectorMatMul, operands: Operands) -> Operands:
    value = state.matrices[operation.input.name]
    swapped = MatrixValue(value.component, value.bits.byteswap())
    interpretation, columns = interpretation_value(operation.interpretation), extent(operation.columns)
    column = reshaped(unpacked(swapped, interpretation, columns), operands.vector.bits.shape)
    return replace(operands, vector=column)


def _flag_inverted(_: State, operation: CooperativeVectorMatMul) -> CooperativeVectorMatMul:
    return replace(operation, operands=(operation.operands or MatrixOperands.NONE) ^ MatrixOperands.B_SIGNED)


def _beyond_columns(state: State, operation: CooperativeVectorMatMul) -> None:
    """Multiply whole components of a packed input, with the memory after each row as further elements of the matrix."""
    interpretation = interpretation_value(operation.interpretation)
    columns = -(-extent(operation.columns) // 4) * 4

    def matrix(state: State, given: MatrixInMemory, rows: int, _: int) -> MatrixValue:
        return loaded_matrix(state, given, rows, columns)

    operands = operands_of(state, operation, matrix=matrix)
    vector = unpacked(state.matrices[operation.input.name], interpretation, columns)
    column = reshaped(vector, (len(vector.bits), columns, 1))
    state.matrices[operation.result.name] = multiplied(replace(operands, vector=column))


def _padding_read(multiple: int) -> Substitute:
    """Build a step that rounds the columns up to a multiple, with zeros as further input.

    Zero times a NaN or an infinity read from the padding is NaN.
    """

    def step(state: State, operation: CooperativeVectorMatMul) -> None:
        operands, given, columns = operands_of(state, operation), operation.matrix, extent(operation.columns)
        component, layout, memory = operands.matrix.component, vector_layout_value(given.layout), state.memories[given.array.name]
        offsets = matrix_offsets(state, given, extent(operation.rows), columns, layout)
        further = np.arange(columns, -(-columns // multiple) * multiple, dtype=np.int64)
        assert given.stride is not None, "a matrix whose rows or columns are contiguous has a stride"
        step_ = state.scalar(given.stride).astype(np.int64)[:, None, None]
        places = offsets[:, :, :1] + further * (component.bytes if layout is VectorMatrixLayout.ROW_MAJOR else step_)
        # Nothing is read beyond the buffer, or beyond the bytes of it that the case has.
        held = places if memory.array.windows is None else memory.array.windows.held(places)
        inside = (held >= 0) & (held <= len(memory.contents) - component.bytes)
        numbers = values(memory.load(np.where(inside, held, 0), component), component)
        _give(state, operation, operands, (inside & ~np.isfinite(numbers)).any(axis=2))

    return step


def _columns_lost(multiple: int) -> Edit:
    """Return a function that drops the last columns, those beyond a multiple of ``multiple``."""

    def edit(value: MatrixValue) -> MatrixValue:
        bits = value.bits.copy()
        bits[:, :, bits.shape[2] // multiple * multiple :] = 0
        return replace(value, bits=bits)

    return edit


# The matrix and the bias


def _other_layout(_: State, operation: CooperativeVectorMatMul) -> CooperativeVectorMatMul:
    layout = VectorMatrixLayout(1 - vector_layout_value(operation.matrix.layout))
    return replace(operation, matrix=replace(operation.matrix, layout=layout))


def _tight(state: State, operation: CooperativeVectorMatMul) -> None:
    """Ignore the stride: rows (columns) follow each other."""

    def matrix(state: State, given: MatrixInMemory, rows: int, columns: int) -> MatrixValue:
        component, layout = interpretation_value(given.interpretation).component, vector_layout_value(given.layout)
        first = state.scalar(given.offset).astype(np.int64)
        shape = (rows, columns) if layout is VectorMatrixLayout.ROW_MAJOR else (columns, rows)
        places = np.arange(rows * columns, dtype=np.int64).reshape(shape) * component.bytes
        offsets = first[:, None, None] + (places if layout is VectorMatrixLayout.ROW_MAJOR else places.T)
        memory = state.memories[given.array.name]
        return MatrixValue(component, memory.load(memory.held(offsets, component.bytes), component))

    _give(state, operation, operands_of(state, operation, matrix=matrix))


def _untransposed(value: MatrixValue) -> MatrixValue:
    """Read the elements of an optimal layout without the transposition that the instruction has."""
    return replace(value, bits=np.ascontiguousarray(value.bits.transpose(0, 2, 1)).reshape(value.bits.shape))


def _transposed(value: MatrixValue) -> MatrixValue:
    """Read the elements of an optimal layout with a transposition that the instruction does not have."""
    count, rows, columns = value.bits.shape
    return replace(value, bits=np.ascontiguousarray(value.bits.reshape(count, columns, rows).transpose(0, 2, 1)))


def _without_bias(_: State, __: CooperativeVectorMatMul, operands: Operands) -> Operands:
    return replace(operands, bias=MatrixValue(operands.result, np.zeros(operands.bias.bits.shape, operands.result.bits_dtype)))


def _bias_as(name: str) -> Substitute:
    """Build a step that reads the bias as numbers of another type."""

    def step(state: State, operation: CooperativeVectorMatMul) -> None:
        def bias(state: State, given: BiasInMemory, rows: int) -> MatrixValue:
            read = loaded_bias(state, replace(given, interpretation=INTERPRETATIONS[name]), rows)
            if not read.component.is_float or not np.isinf(values(read.bits, read.component)).any():
                return read
            raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "a bias that is read as another type is infinite")

        _give(state, operation, operands_of(state, operation, bias=bias))

    return step


def _of_result_type(state: State, operation: CooperativeVectorMatMul) -> None:
    """Read the matrix as elements of the result's type."""
    interpretation = INTERPRETATIONS[operation.result.type.component.name]

    def matrix(state: State, given: MatrixInMemory, rows: int, columns: int) -> MatrixValue:
        return loaded_matrix(state, replace(given, interpretation=interpretation), rows, columns)

    _give(state, operation, operands_of(state, operation, matrix=matrix))


_OTHER_FLOAT8 = {COMPONENT_TYPES["e4m3"]: COMPONENT_TYPES["e5m2"], COMPONENT_TYPES["e5m2"]: COMPONENT_TYPES["e4m3"]}


def _input_of_other_float8(_: State, __: CooperativeVectorMatMul, operands: Operands) -> Operands:
    """Convert the input to the other 8-bit float type."""
    other = _OTHER_FLOAT8[operands.vector.component]
    source = operands.vector if operands.wide is None else operands.wide
    rounded = nearest(other, values(source.bits, source.component))
    return replace(operands, vector=MatrixValue(other, encode(other, rounded)))


# The sum


def _saturated(state: State, operation: CooperativeVectorMatMul) -> None:
    """Clamp the sum to the range of the result's type."""
    operands = operands_of(state, operation)
    vector = integers(operands.vector.bits, operands.vector.component, operands.vector.component.is_signed)
    _set_integers(state, operation, np.clip(_sums(operands, vector[:, :, 0]), *operands.result.limits))


def _input_type(operation: CooperativeVectorMatMul) -> ComponentType:
    return operation.input.type.component


def _target(operation: CooperativeVectorMatMul) -> ComponentType:
    return interpretation_value(operation.interpretation).component


_of = Each("vector_multiply", "product")


@defects_of("vector_multiply", CooperativeVectorMatMul)
def vector_multiply_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the matrix-vector multiplies in ``program``."""
    products = every(program.operations, CooperativeVectorMatMul)
    packed = [o for o in products if interpretation_value(o.interpretation).packed]
    plain = [o for o in products if o not in packed and _input_type(o) is not _target(o)]
    narrowed = [o for o in plain if not _target(o).is_float]
    from_floats = [o for o in narrowed if _input_type(o).is_float]
    yield from _of(narrowed, "input_not_converted", _not_converted)
    yield from _of(narrowed, "input_wraps", _with(_wrapped))
    for rounding, function in (("toward zero", np.trunc), ("down", np.floor), ("half away from zero", _half_away)):
        yield from _of(from_floats, "input_rounded", _with(_rounded(function)), rounding=rounding)
    yield from _of([o for o in plain if not _input_type(o).is_float], "input_sign_flag_inverted", _of_other(_flag_inverted))
    yield from _of(packed, "packed_high_bits_first", _with(_high_bits_first))
    yield from _of(packed, "packed_by_other_sign", _edited(vector=_by_other_sign))
    linear = [o for o in products if not vector_layout_value(o.matrix.layout).is_optimal]
    yield from _of([o for o in packed if o in linear and extent(o.columns) % 4], "beyond_columns", _beyond_columns)
    floats = [o for o in linear if interpretation_value(o.matrix.interpretation).component.is_float]
    for multiple in (4, 8, 16):
        # If several multiples give the same number of columns, only the smallest is a defect.
        up = [o for o in floats if -extent(o.columns) % multiple >= multiple // 2 or (multiple == 4 and extent(o.columns) % 4)]
        yield from _of(up, "padding_read", _padding_read(multiple), multiple=str(multiple))
        down = [o for o in products if extent(o.columns) % multiple >= multiple // 2 or (multiple == 4 and extent(o.columns) % 4)]
        yield from _of(down, "columns_lost", _edited(matrix=_columns_lost(multiple)), multiple=str(multiple))
    yield from _of_memory(products, linear)
    yield from _of([o for o in products if not o.result.type.component.is_float], "sum_saturates", _saturated)


def _of_memory(products: Sequence[CooperativeVectorMatMul], linear: Sequence[CooperativeVectorMatMul]) -> Iterator[Defect]:
    """Yield defects of the matrix and the bias.

    Args:
        products: all multiplies.
        linear: the multiplies whose matrix has contiguous rows or columns.
    """
    whole = [o for o in products if not interpretation_value(o.matrix.interpretation).component.is_float]
    yield from _of(whole, "matrix_by_other_sign", _edited(matrix=_by_other_sign))
    yield from _of([o for o in linear if o.matrix.array.pointee.bytes > 1], "matrix_offset_in_elements", _as_elements("matrix"))
    yield from _of(products, "matrix_offset_ignored", _bent("matrix.offset", zero))
    yield from _of(products, "matrix_of_first_invocation", _bent("matrix.offset", of_first))
    yield from _of(linear, "layout_swapped", _of_other(_other_layout))
    yield from _of(linear, "stride_ignored", _tight)
    narrow = [o for o in linear if _may_be_of_result_type(o)]
    yield from _of(narrow, "matrix_of_result_type", _of_result_type)
    eights = [o for o in products if interpretation_value(o.matrix.interpretation).component in _OTHER_FLOAT8]
    yield from _of(eights, "other_float8", _edited(matrix=_as_other_float8), operand="matrix")
    yield from _of([o for o in products if _target(o) in _OTHER_FLOAT8], "other_float8", _with(_input_of_other_float8), operand="input")
    optimal = [o for o in products if o not in linear and min(extent(o.rows), extent(o.columns)) > 1]
    transposed = [o for o in optimal if transposes(o.matrix.transpose)]
    yield from _of(transposed, "transposition_ignored", _edited(matrix=_untransposed))
    yield from _of([o for o in optimal if o not in transposed], "transposition_added", _edited(matrix=_transposed))
    yield from _of([o for o in products if extent(o.rows) > 1], "one_row", _edited(matrix=_first_row))
    biased = [o for o in products if o.bias is not None]
    yield from _of(biased, "bias_dropped", _with(_without_bias))
    yield from _of([o for o in biased if extent(o.rows) > 1], "first_bias", _edited(bias=_first_row))
    yield from _of([o for o in biased if o.bias and o.bias.array.pointee.bytes > 1], "bias_offset_in_elements", _as_elements("bias"))
    yield from _of(biased, "bias_offset_ignored", _bent("bias.offset", zero))
    yield from _of(biased, "bias_of_first_invocation", _bent("bias.offset", of_first))
    for name in ("f16", "f32", "s8", "u8", "s32"):
        others = [o for o in biased if o.bias and _may_be_read_as(o, COMPONENT_TYPES[name])]
        yield from _of(others, "bias_of_other_type", _bias_as(name), type=name)


def _may_be_of_result_type(operation: CooperativeVectorMatMul) -> bool:
    """Tell whether a device may read the matrix as the result's type: both are floats, or both integers, of different sizes."""
    own, result = interpretation_value(operation.matrix.interpretation).component, operation.result.type.component
    return own.is_float == result.is_float and own.bits != result.bits


def _may_be_read_as(operation: CooperativeVectorMatMul, other: ComponentType) -> bool:
    """Tell whether a device may read the bias as ``other``, which is a type of the matrix or of the result."""
    assert operation.bias is not None, "the multiply has a bias"
    own = interpretation_value(operation.bias.interpretation).component
    read = (interpretation_value(operation.matrix.interpretation).component, operation.result.type.component)
    return other in read and other is not own and other.bits != own.bits and not is_float8(other) and other.is_float == own.is_float
