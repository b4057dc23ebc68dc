"""Arithmetic on the elements of matrices (KHR-ARI-*, facts.md C5 to C9, C29, C30), and instructions on the components of cooperative
vectors: the same arithmetic, bits and shifts, conversions, and functions (CV-ARI-*, CV-BIT-01, CV-CVT-*)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from cts.reference import float_controls, single_precision
from cts.reference.components import check_signs
from cts.reference.conversion import converted_by_modes
from cts.reference.quotients import DIVISION_ULP, check_divisors, quotients
from cts.reference.state import State, evaluates
from cts.reference.values import CERTAIN, Certain, Choice, MatrixValue
from cts.reference.vector_functions import function_of
from cts.reference.vector_moves import has_rules, recast
from cts.verdict.expected import Authority
from generators.errors import GeneratorError, Rule
from generators.numerics.error_bounds import quotient_bounds
from generators.numerics.error_free import two_product, two_sum
from generators.numerics.formats import denormals, encode, integers, largest_finite, smallest_normal, values
from generators.numerics.rounding import correctly_rounded, nearest, neighbours, rounded_by_bfloat16
from generators.program import elementwise as language
from generators.program.conversion import Conversion
from generators.program.float_controls import NO_MODES, Modes
from generators.program.values import CooperativeVector, Matrix, is_matrix
from generators.types import COMPONENT_TYPES, ComponentType

BY_ELEMENTS = Authority("KHR-ARI-02")

_FLOATS_ONLY, _INTEGERS_ONLY = ("divide",), ("signed_divide", "unsigned_divide")
ARITHMETIC, SCALED, BITS, CONVERTED, BITCAST = (Authority(id_) for id_ in ("CV-ARI-01", "CV-ARI-03", "CV-BIT-01", "CV-CVT-01", "CV-CVT-02"))

_OF_MATRICES = ("KHR-ARI-02", "KHR-CVT-01")
"""Requirements for matrices -> the corresponding requirements for vectors."""


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
        low, high = rounded_by_bfloat16(*neighbours(component, found.center), singles)
        others = () if (low == high).all() else (encode(component, high),)
        return MatrixValue(component, encode(component, low), True, Choice(others) if others else CERTAIN, authority=BY_ELEMENTS)
    bits = encode(component, nearest(component, found.center))
    return MatrixValue(component, bits, True, found, authority=BY_ELEMENTS)


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


def _of_vectors(value: MatrixValue, authority: Authority) -> MatrixValue:
    """Return the value as the result of an instruction on vectors. Requirements about execution modes have the same number for both."""
    requirement = value.authority.requirement
    if requirement in _OF_MATRICES:
        return replace(value, authority=replace(value.authority, requirement=authority.requirement))
    return replace(value, authority=replace(value.authority, requirement=requirement.replace("KHR-FC-", "CV-FC-")))


def _define(state: State, result: Matrix | CooperativeVector, value: MatrixValue, authority: Authority) -> None:
    """Define a result with ``value``; ``authority`` is its basis if it is a vector."""
    state.matrices[result.name] = value if is_matrix(result) else _of_vectors(value, authority)


@evaluates(language.MatrixNegate, language.CooperativeVectorNegate)
def negate(state: State, operation: language.MatrixNegate | language.CooperativeVectorNegate) -> None:
    """See ``negated``."""
    value = state.matrices[operation.operand.name]
    _define(state, operation.result, negated(value, float_controls.modes(state, value.component)), ARITHMETIC)


@evaluates(language.MatrixArithmetic, language.CooperativeVectorArithmetic)
def arithmetic(state: State, operation: language.MatrixArithmetic | language.CooperativeVectorArithmetic) -> None:
    """See ``combine``."""
    left, right = state.matrices[operation.left.name], state.matrices[operation.right.name]
    modes = float_controls.modes(state, left.component)
    _define(state, operation.result, combine(operation.operator, left, right, operation.no_contraction, modes), ARITHMETIC)


@evaluates(language.MatrixTimesScalar, language.CooperativeVectorTimesScalar)
def times_scalar(state: State, operation: language.MatrixTimesScalar | language.CooperativeVectorTimesScalar) -> None:
    """Multiply by a matrix or a vector of one value (KHR-ARI-05, CV-ARI-03).

    Raises:
        GeneratorError: the scalar is of another type than the components, or a vector has integers.
    """
    result, scalar, of_matrix = operation.result, operation.scalar, isinstance(operation, language.MatrixTimesScalar)
    value = state.matrices[operation.matrix.name if isinstance(operation, language.MatrixTimesScalar) else operation.vector.name]
    component = value.component
    if scalar.type is not component or not (of_matrix or component.is_float):
        rule = "KHR-ARI-05" if of_matrix else "CV-ARI-03"
        raise GeneratorError(rule, f"{result.name} multiplies {component} by {scalar.type}; use one type, for vectors of floats ({rule})")
    bits = state.scalar(scalar).astype(component.bits_dtype)
    factor = MatrixValue(component, np.broadcast_to(bits[:, None, None], value.bits.shape))
    modes = float_controls.modes(state, component)
    _define(state, result, combine("multiply", value, factor, operation.no_contraction, modes), SCALED)


@evaluates(language.CooperativeVectorNot)
def invert(state: State, operation: language.CooperativeVectorNot) -> None:
    """Complement every bit."""
    (operand,) = _integers(state, operation.operand.name)
    state.matrices[operation.result.name] = MatrixValue(operand.component, ~operand.bits, authority=BITS)


@evaluates(language.CooperativeVectorBits)
def bits(state: State, operation: language.CooperativeVectorBits) -> None:
    """See ``combined_bits``."""
    left, right = _integers(state, operation.left.name, operation.right.name)
    state.matrices[operation.result.name] = combined_bits(operation.operator, left, right)


def _integers(state: State, *names: str) -> list[MatrixValue]:
    found = [state.matrices[name] for name in names]
    if any(one.component.is_float for one in found):
        raise GeneratorError("CV-BIT-01", f"{', '.join(names)}: instructions on bits need integers (CV-BIT-01)")
    return found


def combined_bits(operator: language.BitOperator, left: MatrixValue, right: MatrixValue) -> MatrixValue:
    """Return ``left`` (operator) ``right`` of integers, component by component (CV-BIT-01).

    Raises:
        GeneratorError: a shift amount, read as unsigned, is the width or more, which is undefined (SPIR-V 3.42.14); or the types differ.
    """
    component, x, y = left.component, left.bits, right.bits
    if right.component is not component or x.shape != y.shape:
        raise GeneratorError(Rule.TYPES_DIFFER, "the operands of an instruction on bits are of different types; use one (CV-BIT-01)")
    if operator.startswith("shift") and (y >= component.bits).any():
        raise GeneratorError(Rule.SHIFT, f"{component} is shifted by its width or more, which is undefined; shift by less")
    match operator:
        case "and":
            found = x & y
        case "or":
            found = x | y
        case "xor":
            found = x ^ y
        case "shift_left":
            found = x << y
        case "shift_right_logical":
            found = x >> y
        case "shift_right_arithmetic":
            signed = f"i{component.bytes}"
            found = (x.view(signed) >> y.view(signed)).view(component.bits_dtype)
    return MatrixValue(component, found, authority=BITS)


@evaluates(language.CooperativeVectorConvert)
def convert(state: State, operation: language.CooperativeVectorConvert) -> None:
    """Convert every component (CV-CVT-01), or keep its bits (CV-CVT-02).

    Raises:
        GeneratorError: the instruction does not take these types, the result is undefined, or a bitcast reveals the free sign of a zero.
    """
    if not language.converts(operation):
        raise GeneratorError(
            Rule.NO_CONVERSION,
            f"Op{operation.conversion.value} from {operation.vector.type.component} to {operation.result.type.component} is not allowed; "
            "see generators.program.conversion.conversions (CV-CVT-01, CV-CVT-02)",
        )
    value, target = state.matrices[operation.vector.name], operation.result.type.component
    if operation.conversion is Conversion.BITCAST:
        ruled = value.permitted is not None or has_rules(state, value.component) or has_rules(state, target)
        state.matrices[operation.result.name] = recast(state, value, target) if ruled else bitcast(value, target)
        return
    convert_by(state, operation.result.name, value, target, operation.conversion)


def convert_by(state: State, name: str, value: MatrixValue, target: ComponentType, conversion: Conversion) -> None:
    """Convert ``value`` to ``target`` by an instruction other than OpBitcast, under the program's execution modes, and call it ``name``.
    If a load may have changed the value, the results of what it may have loaded are permitted as well."""
    expected = _of_vectors(converted_by_modes(state, replace(value, permitted=None), target, conversion), CONVERTED)
    loaded = value.permitted if isinstance(value.permitted, Choice) else None
    if loaded is None or loaded.free is not None:
        expected = _of_vectors(converted_by_modes(state, value, target, conversion), CONVERTED)
    elif isinstance(expected.known, Certain | Choice):
        inside = expected.expectation().expected
        results = [
            bits
            for other in loaded.others
            for bits in converted_by_modes(state, MatrixValue(value.component, other), target, conversion).expected_bits
            if not inside.contains(bits).all()
        ]
        if results:
            others = expected.permitted.others if isinstance(expected.permitted, Choice) else ()
            authority = replace(expected.authority, quality=value.authority.quality)
            expected = replace(expected, permitted=Choice((*expected.expected_bits[1:], *others, *results)), authority=authority)
    state.matrices[name] = expected


def bitcast(value: MatrixValue, target: ComponentType) -> MatrixValue:
    """Return the same bits as numbers of another type of the same width (CV-CVT-02); denormals stay (Vulkan, "Precision and Operation of
    SPIR-V Instructions").

    Raises:
        GeneratorError: the sign of a zero is free, or the value has a range.
    """
    every = value.every_bits
    for found in every:
        check_signs(value, found)
    known = Choice(every[1:]) if len(every) > 1 else CERTAIN
    return MatrixValue(target, every[0], target.is_float, known, authority=BITCAST)


@evaluates(language.CooperativeVectorFunction)
def function(state: State, operation: language.CooperativeVectorFunction) -> None:
    """See cts.reference.vector_functions.

    Raises:
        GeneratorError: the number of arguments is not the function's, or as ``function_of``.
    """
    arguments = [state.matrices[argument.name] for argument in operation.arguments]
    if len(arguments) != language.ARGUMENTS[operation.function]:
        raise GeneratorError(
            Rule.OPERAND_COUNT, f"{operation.function} takes {language.ARGUMENTS[operation.function]} arguments and gets {len(arguments)}"
        )
    modes = float_controls.modes(state, arguments[0].component)
    if modes.denormals == "free" and not modes.special:
        # Each function may take a denormal for zero, as a load may have done before it; it refuses NaN and infinities.
        arguments = [replace(argument, permitted=None) for argument in arguments]
    state.matrices[operation.result.name] = function_of(operation.function, arguments, modes)
