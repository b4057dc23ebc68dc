"""Arithmetic on the elements of matrices (KHR-ARI-*, facts.md C5 to C9, C29, C30)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cts.reference import float_controls, single_precision
from cts.reference.quotients import DIVISION_ULP, check_divisors, quotients
from cts.reference.state import State, evaluates
from cts.reference.values import CERTAIN, Choice, MatrixValue, Range
from cts.verdict.expected import Authority
from generators.errors import GeneratorError, Rule
from generators.numerics.error_bounds import quotient_bounds
from generators.numerics.error_free import two_product, two_sum
from generators.numerics.formats import denormals, encode, integers, largest_finite, smallest_normal, values
from generators.numerics.rounding import correctly_rounded, nearest, neighbours, rounded_by_bfloat16
from generators.program.elementwise import MatrixArithmetic, MatrixNegate, MatrixTimesScalar
from generators.program.float_controls import NO_MODES, Modes
from generators.types import COMPONENT_TYPES, ComponentType

BY_ELEMENTS = Authority("KHR-ARI-02")

_FLOATS_ONLY, _INTEGERS_ONLY = ("divide",), ("signed_divide", "unsigned_divide")


def _finite(numbers: np.ndarray) -> np.ndarray:
    if not np.isfinite(numbers).all():
        raise GeneratorError(
            Rule.NOT_FINITE, "an operand of float arithmetic is NaN or infinite, for which nothing is promised (facts.md C30)"
        )
    return numbers


def _readings(value: MatrixValue, no_contraction: bool) -> Iterator[np.ndarray]:
    """Yield every possible float64 array of an operand: its allowed values, each also with denormals flushed to zero (facts.md C29).

    An operand that was rounded has several values only if the operation that uses it must not be contracted with the operation that made
    it.
    """
    every = value.expected_bits if single_precision.is_wider(value) else value.every_bits
    if isinstance(value.known, Choice) and not no_contraction:
        raise GeneratorError(
            Rule.CONTRACTION,
            "a float result that may round either way is the operand of an operation that may be contracted with the one that made it; "
            "use exact data, or forbid the contraction",
        )
    for numbers in (values(bits, value.component) for bits in every):
        yield _finite(numbers)
        flushed = denormals(numbers, value.component)
        if flushed.any():
            yield np.where(flushed, 0.0, numbers)


def _rounded(component: ComponentType, exact: list[tuple[np.ndarray, np.ndarray]]) -> MatrixValue:
    """Return the correctly rounded results of exact values (value, rest); the first value is the main one."""
    results: list[np.ndarray] = []
    for value, rest in exact:
        main, other = correctly_rounded(component, value, rest)
        if (np.maximum(np.abs(main), np.abs(other)) > largest_finite(component)).any():
            raise GeneratorError(
                Rule.OVERFLOW, f"a result of float arithmetic may overflow {component}; make the operands smaller (facts.md C30)"
            )
        results += [main, other]
        flushed = denormals(main, component) | denormals(other, component)
        if flushed.any():
            results.append(np.where(flushed, 0.0, main))
    bits = encode(component, results[0])
    others: list[np.ndarray] = []
    for result in results[1:]:
        # Compare numbers, not bits: zeros of either sign are the same value (facts.md C7).
        if not (result == results[0]).all():
            other = encode(component, result)
            if not any(np.array_equal(other, known) for known in others):
                others.append(other)
    return MatrixValue(component, bits, True, Choice(tuple(others)) if others else CERTAIN, authority=BY_ELEMENTS)


def _float_arithmetic(operator: str, left: MatrixValue, right: MatrixValue, no_contraction: bool) -> MatrixValue:
    exact = []
    for x in _readings(left, no_contraction):
        for y in _readings(right, no_contraction):
            if operator == "multiply":
                exact.append(two_product(x, y))
            else:
                exact.append(two_sum(x, y if operator == "add" else -y))
    return _rounded(left.component, exact)


def _float_division(left: MatrixValue, right: MatrixValue) -> MatrixValue:
    """Return quotients within 2.5 ULP of the component type, even if they are exact, for divisors in the range that Vulkan names (facts.md
    C6). Quotients of bf16 are correctly rounded from binary32 quotients within 2.5 ULP (Vulkan, "Precision of Core SPIR-V Instructions";
    SPV_KHR_bfloat16)."""
    component = left.component
    (x, *_), (y, *_) = _readings(left, False), _readings(right, False)
    check_divisors(component, y)
    found = quotients(component, x, y)
    if ((found.least < smallest_normal(component)) | denormals(x, component)).any():
        raise GeneratorError(
            Rule.DENORMAL, "a quotient or dividend of a float division is zero or may be denormal; make it larger (facts.md C29)"
        )
    if component is COMPONENT_TYPES["bf16"]:
        single = COMPONENT_TYPES["f32"]
        lowest, highest = quotient_bounds(single, x, y, DIVISION_ULP)
        singles = neighbours(single, lowest)[1], neighbours(single, highest)[0]
        low, high = rounded_by_bfloat16(*neighbours(component, found.rounded), singles)
        others = () if (low == high).all() else (encode(component, high),)
        return MatrixValue(component, encode(component, low), True, Choice(others) if others else CERTAIN, authority=BY_ELEMENTS)
    bits = encode(component, nearest(component, found.rounded))
    return MatrixValue(component, bits, True, Range(found.low, found.high, found.rounded), authority=BY_ELEMENTS)


def _integer_division(left: MatrixValue, right: MatrixValue, signed: bool) -> np.ndarray:
    """Return the quotient of numbers of the opcode's signedness, rounded toward zero (SPIR-V 3.42.13, OpSDiv, OpUDiv)."""
    component = left.component
    if not signed and component.is_signed:
        raise GeneratorError(Rule.SIGNEDNESS, f"OpUDiv needs a type whose signedness is 0, not {component} (SPIR-V 3.42.13)")
    if (right.bits == 0).any():
        raise GeneratorError(Rule.DIVISION_BY_ZERO, "a divisor is zero, which is undefined; draw others (facts.md C9)")
    if not signed:
        return np.asarray(left.bits // right.bits)
    x, y = (integers(value.bits, component, True).astype(np.int64) for value in (left, right))
    if ((x == -(1 << (component.bits - 1))) & (y == -1)).any():
        raise GeneratorError(Rule.DIVISION_OVERFLOW, "the lowest number is divided by -1, which is undefined; draw others (facts.md C9)")
    floor = x // y
    return np.asarray(floor + ((floor * y != x) & ((x < 0) != (y < 0))))


def _integer_arithmetic(operator: str, left: MatrixValue, right: MatrixValue) -> MatrixValue:
    """Return the low-order bits of the exact result (facts.md C8)."""
    component = left.component
    if operator in ("signed_divide", "unsigned_divide"):
        result = _integer_division(left, right, operator == "signed_divide")
    else:
        x, y = left.bits.astype(np.uint64), right.bits.astype(np.uint64)
        result = x + y if operator == "add" else x - y if operator == "subtract" else x * y
    return MatrixValue(component, result.astype(component.bits_dtype), authority=BY_ELEMENTS)


def combine(operator: str, left: MatrixValue, right: MatrixValue, no_contraction: bool = False, modes: Modes = NO_MODES) -> MatrixValue:
    """Compute ``left`` (operator) ``right``, element by element (KHR-ARI-02).

    Args:
        operator: one of generators.program.elementwise.Operator.
        left, right: the operands, of one component type and shape.
        no_contraction: whether the operation must not be contracted with the operations that made its operands.
        modes: the execution modes for floats of this type.

    Raises:
        GeneratorError: the types differ (KHR-ARI-04), the operator does not accept them (KHR-ARI-03), or nothing is promised about the
            result.
    """
    component = left.component
    if right.component is not component or left.bits.shape != right.bits.shape:
        raise GeneratorError("KHR-ARI-04", "the operands of matrix arithmetic are of different types (KHR-ARI-04)")
    if operator in (_INTEGERS_ONLY if component.is_float else _FLOATS_ONLY):
        raise GeneratorError("KHR-ARI-03", f"'{operator}' does not accept {component} (KHR-ARI-03)")
    if not component.is_float:
        return _integer_arithmetic(operator, left, right)
    if modes != NO_MODES:
        return float_controls.combined(operator, left, right, modes, BY_ELEMENTS)
    expected = _float_division(left, right) if operator == "divide" else _float_arithmetic(operator, left, right, no_contraction)
    return single_precision.permitted(expected, operator, left, right)


def negated(value: MatrixValue, modes: Modes = NO_MODES) -> MatrixValue:
    """Return the other sign, or two's complement (KHR-ARI-01, facts.md C7); exact, except for denormals (facts.md C29)."""
    component = value.component
    if not component.is_float:
        bits = (np.uint64(0) - value.bits.astype(np.uint64)).astype(component.bits_dtype)
        return MatrixValue(component, bits, authority=BY_ELEMENTS)
    if modes != NO_MODES:
        return float_controls.negated(value, modes, BY_ELEMENTS)
    expected = _rounded(component, [(-numbers, np.zeros(numbers.shape)) for numbers in _readings(value, False)])
    return single_precision.negated(expected, value)


@evaluates(MatrixNegate)
def negate(state: State, operation: MatrixNegate) -> None:
    """See ``negated``."""
    value = state.matrices[operation.operand.name]
    state.matrices[operation.result.name] = negated(value, float_controls.modes(state, value.component))


@evaluates(MatrixArithmetic)
def arithmetic(state: State, operation: MatrixArithmetic) -> None:
    """See ``combine``."""
    left, right = state.matrices[operation.left.name], state.matrices[operation.right.name]
    modes = float_controls.modes(state, left.component)
    state.matrices[operation.result.name] = combine(operation.operator, left, right, operation.no_contraction, modes)


@evaluates(MatrixTimesScalar)
def times_scalar(state: State, operation: MatrixTimesScalar) -> None:
    """Multiply by a matrix of one value (KHR-ARI-05)."""
    matrix = state.matrices[operation.matrix.name]
    if operation.scalar.type is not matrix.component:
        raise GeneratorError("KHR-ARI-05", f"the scalar {operation.scalar.name} is not of the matrix's component type (KHR-ARI-05)")
    bits = state.scalar(operation.scalar).astype(matrix.component.bits_dtype)
    factor = MatrixValue(matrix.component, np.broadcast_to(bits[:, None, None], matrix.bits.shape))
    modes = float_controls.modes(state, matrix.component)
    state.matrices[operation.result.name] = combine("multiply", matrix, factor, operation.no_contraction, modes)
