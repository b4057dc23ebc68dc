"""Ways in which devices may compute, legal and illegal: each performs an operation in place of the reference model, or declines."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from cts.reference.state import State
from cts.reference.values import MatrixValue
from generators.numerics.formats import encode, integers, largest_finite, values
from generators.numerics.rounding import nearest, neighbours, to_bits, toward_zero, ulp
from generators.program.conversion import Conversion, MatrixConvert, is_float8
from generators.program.elementwise import MatrixArithmetic, MatrixTimesScalar
from generators.program.muladd import MatrixMulAdd
from generators.program.operation import Operation
from generators.types import COMPONENT_TYPES, ComponentType, MatrixOperands

Way = Callable[[State, Operation], MatrixValue | None]
"""Returns the result of an operation; None if the device performs it normally."""

F16, BF16, F32, F64 = (COMPONENT_TYPES[name] for name in ("f16", "bf16", "f32", "f64"))


def _operands(state: State, operation: MatrixMulAdd) -> tuple[MatrixValue, MatrixValue, MatrixValue]:
    return state.matrices[operation.a.name], state.matrices[operation.b.name], state.matrices[operation.c.name]


def _stored(component: ComponentType, numbers: np.ndarray) -> MatrixValue:
    with np.errstate(all="ignore"):
        return MatrixValue(component, encode(component, nearest(component, numbers)), computed=True)


def _float_product(
    state: State, operation: Operation, applies: Callable[[ComponentType, ComponentType], bool], narrow: Callable[[np.ndarray], np.ndarray]
) -> MatrixValue | None:
    """Add one product after another to C, and apply ``narrow`` after each step, if ``applies`` is true for the types of A and Result."""
    if not isinstance(operation, MatrixMulAdd):
        return None
    a, b, c = _operands(state, operation)
    result = operation.result.type.component
    if not result.is_float or not applies(a.component, result):
        return None
    with np.errstate(all="ignore"):
        left, right, total = (narrow(values(value.bits, value.component)) for value in (a, b, c))
        for k in range(left.shape[2]):
            total = narrow(total + narrow(left[:, :, k, None] * right[:, None, k, :]))
    return _stored(result, total)


def sums_in_f16(state: State, operation: Operation) -> MatrixValue | None:
    return _float_product(state, operation, lambda a, result: result is F32 and a.bits <= 16 and a is not BF16, lambda x: nearest(F16, x))


def sums_in_bf16(state: State, operation: Operation) -> MatrixValue | None:
    return _float_product(state, operation, lambda a, result: result is F32 and a is BF16, lambda x: toward_zero(BF16, x))


def f64_in_f32(state: State, operation: Operation) -> MatrixValue | None:
    return _float_product(state, operation, lambda a, result: result is F64, lambda x: nearest(F32, x))


_OPERATORS: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
}


def _single(numbers: np.ndarray) -> np.ndarray:
    """Round numbers to the nearest ones with the significand of f32 and any exponent."""
    return to_bits(numbers, F32.precision)


def f64_elements_in_f32(state: State, operation: Operation) -> MatrixValue | None:
    """Compute f64 elements in 24 bits: operands and results are rounded."""
    match operation:
        case MatrixArithmetic(operator=operator, left=left, right=right) if operation.result.type.component is F64:
            x, y = (_single(values(state.matrices[one.name].bits, F64)) for one in (left, right))
            return _stored(F64, _single(_OPERATORS[operator](x, y)))
        case MatrixTimesScalar(matrix=matrix, scalar=scalar) if operation.result.type.component is F64:
            factor = state.scalar(scalar).astype(np.uint64).view(np.float64)[:, None, None]
            return _stored(F64, _single(_single(values(state.matrices[matrix.name].bits, F64)) * _single(factor)))
        case MatrixConvert(matrix=matrix, conversion=Conversion.S_TO_F | Conversion.U_TO_F) if operation.result.type.component is F64:
            value = state.matrices[matrix.name]
            numbers = integers(value.bits, value.component, operation.conversion is Conversion.S_TO_F)
            return _stored(F64, _single(numbers.astype(np.float64)))
    return None


def f64_sums_truncated(state: State, operation: Operation) -> MatrixValue | None:
    """Keep only 20 bits of an f64 sum, difference, product or quotient, fewer than single precision has."""
    if not isinstance(operation, MatrixArithmetic) or operation.result.type.component is not F64:
        return None
    x, y = (values(state.matrices[one.name].bits, F64) for one in (operation.left, operation.right))
    return _stored(F64, to_bits(_OPERATORS[operation.operator](x, y), 20, np.trunc))


def factors_of_11_bits(state: State, operation: Operation) -> MatrixValue | None:
    if not isinstance(operation, MatrixMulAdd):
        return None
    a, b, c = _operands(state, operation)
    if a.component is not F32:
        return None
    left, right = (to_bits(values(factor.bits, F32), 11) for factor in (a, b))
    return _stored(F32, left @ right + values(c.bits, F32))


def _clamped(state: State, operation: Operation, group: int) -> MatrixValue | None:
    if not isinstance(operation, MatrixMulAdd):
        return None
    flags = operation.operands or MatrixOperands.NONE
    if not flags & MatrixOperands.SATURATING_ACCUMULATION:
        return None
    result = operation.result.type.component
    signs = (MatrixOperands.A_SIGNED, MatrixOperands.B_SIGNED, MatrixOperands.C_SIGNED)
    a, b, total = (
        integers(value.bits, value.component, bool(flags & sign)).astype(object)
        for value, sign in zip(_operands(state, operation), signs, strict=True)
    )
    signed = bool(flags & MatrixOperands.RESULT_SIGNED)
    low, high = (-(1 << (result.bits - 1)), (1 << (result.bits - 1)) - 1) if signed else (0, (1 << result.bits) - 1)
    for k in range(0, a.shape[2], group):
        total = np.clip(total + a[:, :, k : k + group] @ b[:, k : k + group], low, high)
    return MatrixValue(result, np.asarray(total % (1 << result.bits)).astype(result.bits_dtype))


def clamp_per_term(state: State, operation: Operation) -> MatrixValue | None:
    return _clamped(state, operation, 1)


def clamp_per_four_terms(state: State, operation: Operation) -> MatrixValue | None:
    return _clamped(state, operation, 4)


def nan_on_overflow(state: State, operation: Operation) -> MatrixValue | None:
    if not isinstance(operation, MatrixConvert):
        return None
    value, target = state.matrices[operation.matrix.name], operation.result.type.component
    if not (value.component.is_float and target.is_float) or is_float8(target):
        return None
    numbers = values(value.bits, value.component)
    if not (np.abs(numbers) > largest_finite(target)).any():
        return None
    return _stored(target, np.where(np.abs(numbers) > largest_finite(target), np.nan, numbers))


def _with_one_term(state: State, operation: Operation, factor: int) -> MatrixValue | None:
    """Multiply the first nonzero product of each sum by ``factor``. Sums are exact, and rounded once."""
    if not isinstance(operation, MatrixMulAdd):
        return None
    a, b, c = _operands(state, operation)
    result = operation.result.type.component
    if not result.is_float:
        flags = operation.operands or MatrixOperands.NONE
        signs = (MatrixOperands.A_SIGNED, MatrixOperands.B_SIGNED, MatrixOperands.C_SIGNED)
        left, right, total = (
            integers(value.bits, value.component, bool(flags & sign)).astype(object) for value, sign in zip((a, b, c), signs, strict=True)
        )
        if flags & MatrixOperands.SATURATING_ACCUMULATION:
            return None
    else:
        left, right, total = (values(value.bits, value.component) for value in (a, b, c))
    k = int((left != 0).any(axis=(0, 1)).argmax())
    changed = left.copy()
    changed[:, :, k] = changed[:, :, k] * factor
    total = changed @ right + total
    if result.is_float:
        return _stored(result, total)
    return MatrixValue(result, np.asarray(total % (1 << result.bits)).astype(result.bits_dtype))


def lost_term(state: State, operation: Operation) -> MatrixValue | None:
    return _with_one_term(state, operation, 0)


def doubled_term(state: State, operation: Operation) -> MatrixValue | None:
    return _with_one_term(state, operation, 2)


def wrong_sign(state: State, operation: Operation) -> MatrixValue | None:
    return _with_one_term(state, operation, -1)


def bf16_rounded_up(state: State, operation: Operation) -> MatrixValue | None:
    if not isinstance(operation, MatrixArithmetic) or operation.operator == "divide":
        return None
    left, right = state.matrices[operation.left.name], state.matrices[operation.right.name]
    if left.component is not BF16:
        return None
    x, y = (values(value.bits, BF16) for value in (left, right))
    exact = {"add": x + y, "subtract": x - y, "multiply": x * y}[operation.operator]
    return _stored(BF16, neighbours(BF16, exact)[1])


def quotients_beyond_powers_of_two(state: State, operation: Operation) -> MatrixValue | None:
    if not isinstance(operation, MatrixArithmetic) or operation.operator != "divide":
        return None
    left, right = state.matrices[operation.left.name], state.matrices[operation.right.name]
    component = left.component
    quotient = values(left.bits, component) / values(right.bits, component)
    power = np.abs(np.frexp(quotient)[0]) == 0.5
    return _stored(component, np.where(power, quotient + np.copysign(2 * ulp(component, quotient), quotient), quotient))
