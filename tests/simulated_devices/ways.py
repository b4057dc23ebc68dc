"""Ways in which devices may compute, legal and illegal: each performs an operation in place of the reference model, or declines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from cts.defects import decode_vector
from cts.reference.cooperative_vector_matmul import multiplied, operands_of
from cts.reference.evaluate import perform
from cts.reference.state import State
from cts.reference.values import CERTAIN, MatrixValue
from generators.numerics.formats import denormals, encode, integers, is_nan, largest_finite, values
from generators.numerics.rounding import by_magnitude, nearest, neighbours, to_bits, toward_zero, ulp
from generators.program.conversion import Conversion, MatrixConvert, is_float8
from generators.program.cooperative_vector_matmul import CooperativeVectorMatMul
from generators.program.cooperative_vectors import CooperativeVectorLoad
from generators.program.elementwise import MatrixArithmetic, MatrixTimesScalar
from generators.program.load_store import MatrixLoad
from generators.program.muladd import MatrixMulAdd
from generators.program.operation import Operation
from generators.program.tensor_access import TensorLoad, block_bytes
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


def _in_bits(
    applies: Callable[[ComponentType, ComponentType], bool], bits: int, rounded: Callable[[np.ndarray], np.ndarray] = np.rint
) -> Way:
    """Keep factors, products and sums in ``bits`` bits with any exponent."""
    return lambda state, operation: _float_product(state, operation, applies, lambda x: to_bits(x, bits, rounded))


sums_of_11_bits = _in_bits(lambda a, result: a is not BF16 and result in (F16, F32), 11, np.trunc)
sums_of_10_bits = _in_bits(lambda a, result: a is not BF16 and result in (F16, F32), 10)
sums_of_7_bits = _in_bits(lambda a, result: a is BF16, 7)


def _factors(side: str, bits: int, component: ComponentType) -> Way:
    """Round one factor of each product to ``bits`` bits."""

    def way(state: State, operation: Operation) -> MatrixValue | None:
        if not isinstance(operation, MatrixMulAdd) or operation.result.type.component is BF16:
            return None
        a, b, c = _operands(state, operation)
        if a.component is not component or b.component is not component:
            return None
        exact = [values(factor.bits, component) for factor in (a, b)]
        left, right = (to_bits(one, bits) if name == side else one for one, name in zip(exact, "ab", strict=True))
        if (left == exact[0]).all() and (right == exact[1]).all():
            return None
        return _stored(operation.result.type.component, left @ right + values(c.bits, c.component))

    return way


f16_a_of_10_bits, f16_b_of_10_bits = _factors("a", 10, F16), _factors("b", 10, F16)
f16_a_of_8_bits, f16_b_of_8_bits = _factors("a", 8, F16), _factors("b", 8, F16)
f32_a_of_10_bits, f32_b_of_10_bits = _factors("a", 10, F32), _factors("b", 10, F32)


def sums_backward(state: State, operation: Operation) -> MatrixValue | None:
    """Add the products in f32 in the opposite order, and C last."""
    if not isinstance(operation, MatrixMulAdd) or operation.result.type.component is not F32:
        return None
    a, b, c = (values(value.bits, value.component) for value in _operands(state, operation))
    total = np.zeros(c.shape)
    for k in reversed(range(a.shape[2])):
        total = nearest(F32, total + a[:, :, k, None] * b[:, None, k, :])
    return _stored(F32, nearest(F32, total + c))


def sums_in_a_tree(state: State, operation: Operation) -> MatrixValue | None:
    """Add the products in f32 in pairs, then pairs of these sums, and C last."""
    if not isinstance(operation, MatrixMulAdd) or operation.result.type.component is not F32:
        return None
    a, b, c = (values(value.bits, value.component) for value in _operands(state, operation))
    terms = [a[:, :, k, None] * b[:, None, k, :] for k in range(a.shape[2])]
    while len(terms) > 1:
        terms = [nearest(F32, sum(terms[i : i + 2])) for i in range(0, len(terms), 2)]
    return _stored(F32, nearest(F32, terms[0] + c))


def swapped_elements(state: State, operation: Operation) -> MatrixValue | None:
    """Exchange the first two elements of a product's first row that differ."""
    if not isinstance(operation, MatrixMulAdd):
        return None
    perform(state, operation)
    made = state.matrices[operation.result.name]
    bits = made.bits.copy()
    bits[:, 0, :2] = bits[:, 0, 1::-1]
    return None if (bits == made.bits).all() else MatrixValue(made.component, bits, made.computed)


def _loaded_vectors(change: Callable[[np.ndarray, ComponentType], np.ndarray], floats: bool) -> Way:
    """Change the components that a load of cooperative vectors returns."""

    def way(state: State, operation: Operation) -> MatrixValue | None:
        if not isinstance(operation, CooperativeVectorLoad) or operation.result.type.component.is_float is not floats:
            return None
        perform(state, operation)
        made = state.matrices[operation.result.name]
        bits = change(made.bits, made.component)
        return None if (bits == made.bits).all() else replace(made, bits=bits, known=CERTAIN, permitted=None)

    return way


def _where_denormal(bits: np.ndarray, component: ComponentType, other: np.ndarray | int) -> np.ndarray:
    return np.where(denormals(values(bits, component), component), other, bits).astype(component.bits_dtype)


flushed_vector_loads = _loaded_vectors(lambda bits, component: _where_denormal(bits, component, 0), floats=True)
raised_vector_loads = _loaded_vectors(lambda bits, component: _where_denormal(bits, component, 1 << component.precision - 1), floats=True)
canonical_vector_loads = _loaded_vectors(
    lambda bits, component: np.where(is_nan(bits, component), encode(component, np.full(bits.shape, np.nan)), bits), floats=True
)
flushed_integer_loads = _loaded_vectors(
    lambda bits, component: np.where(bits >> (component.bits - 9) == 0, 0, bits).astype(component.bits_dtype), floats=False
)


def _moved_matrices(change: Callable[[np.ndarray, ComponentType], np.ndarray]) -> Way:
    """Change the elements that a load of matrices of floats returns."""

    def way(state: State, operation: Operation) -> MatrixValue | None:
        if not isinstance(operation, MatrixLoad) or not operation.result.type.component.is_float:
            return None
        perform(state, operation)
        made = state.matrices[operation.result.name]
        bits = change(made.bits, made.component)
        return None if (bits == made.bits).all() else replace(made, bits=bits)

    return way


def _each_nan(number: float) -> Callable[[np.ndarray, ComponentType], np.ndarray]:
    return lambda bits, component: np.where(is_nan(bits, component), encode(component, np.full(bits.shape, number)), bits)


canonical_nan, nan_as_infinity = _moved_matrices(_each_nan(np.nan)), _moved_matrices(_each_nan(np.inf))
flushed_matrix_loads = _moved_matrices(lambda bits, component: _where_denormal(bits, component, 0))


def _interpreted(rounded: Callable[[np.ndarray, ComponentType], np.ndarray]) -> Way:
    """Round the f16 inputs of matrix-vector multiplies to 8 bits in another way."""

    def way(state: State, operation: Operation) -> MatrixValue | None:
        if not isinstance(operation, CooperativeVectorMatMul):
            return None
        operands = operands_of(state, operation)
        if operands.wide is None:
            return None
        target = operands.vector.component
        vector = MatrixValue(target, encode(target, rounded(values(operands.wide.bits, F16), target)))
        return replace(multiplied(replace(operands, vector=vector, wide=None)), permitted=None)

    return way


def _away(numbers: np.ndarray, target: ComponentType) -> np.ndarray:
    return by_magnitude(numbers, *neighbours(target, numbers))[1]


def _nearest_away(numbers: np.ndarray, target: ComponentType) -> np.ndarray:
    toward, away = by_magnitude(numbers, *neighbours(target, numbers))
    return np.where(np.abs(numbers - toward) < np.abs(away - numbers), toward, away)


interpreted_toward_zero = _interpreted(lambda numbers, target: toward_zero(target, numbers))
interpreted_away, interpreted_nearest_away = _interpreted(_away), _interpreted(_nearest_away)
interpreted_one_further = _interpreted(lambda numbers, target: _away(numbers, target) + np.copysign(ulp(target, numbers), numbers))


def rounding_skipped(state: State, operation: Operation) -> MatrixValue | None:
    """Convert the number that an earlier conversion has rounded, instead of its result."""
    if not isinstance(operation, MatrixConvert):
        return None
    origins, target = state.matrices[operation.matrix.name].origins, operation.result.type.component
    if not origins or not (origins[0].component.is_float and target.is_float):
        return None
    if origins[0].component is target:
        return MatrixValue(target, origins[0].bits, computed=True)
    return _stored(target, values(origins[0].bits, origins[0].component))


def converted_one_further(state: State, operation: Operation) -> MatrixValue | None:
    """Round each conversion to a narrower float to the next number after its neighbour."""
    if not isinstance(operation, MatrixConvert):
        return None
    value, target = state.matrices[operation.matrix.name], operation.result.type.component
    if not (value.component.is_float and target.is_float and target.precision < value.component.precision):
        return None
    numbers = values(value.bits, value.component)
    return _stored(target, neighbours(target, numbers)[1] + ulp(target, numbers))


def nan_at_the_largest(state: State, operation: Operation) -> MatrixValue | None:
    """Make the largest finite float a NaN in conversions."""
    if not isinstance(operation, MatrixConvert):
        return None
    value, target = state.matrices[operation.matrix.name], operation.result.type.component
    if not (value.component.is_float and target.is_float):
        return None
    numbers = values(value.bits, value.component)
    top = np.abs(numbers) == largest_finite(target)
    return _stored(target, np.where(top, np.nan, numbers)) if top.any() else None


def _decoded(step: Callable[[State, TensorLoad], None]) -> Way:
    """Load blocks in another way if the two decode functions have structs of different sizes."""

    def way(state: State, operation: Operation) -> MatrixValue | None:
        if not isinstance(operation, TensorLoad) or operation.decode is None or operation.decode_vector is None:
            return None
        if block_bytes(operation.decode) == block_bytes(operation.decode_vector):
            return None
        step(state, operation)
        made = state.matrices[operation.result.name]
        return replace(made, known=CERTAIN, permitted=None)

    return way


scalar_struct, vector_struct = _decoded(decode_vector._vector_by_other_struct), _decoded(decode_vector._scalar_by_other_struct)
