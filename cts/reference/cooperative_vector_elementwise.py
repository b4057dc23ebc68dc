"""Instructions on the components of cooperative vectors: the arithmetic of matrices, bits and shifts, conversions, and functions
(CV-ARI-*, CV-BIT-01, CV-CVT-*)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cts.reference import float_controls
from cts.reference.components import check_signs
from cts.reference.conversion import converted_under
from cts.reference.elementwise import combine, negated
from cts.reference.state import State, evaluates
from cts.reference.values import CERTAIN, Certain, Choice, MatrixValue
from cts.reference.vector_functions import function_of
from cts.reference.vector_moves import has_rules, recast
from cts.verdict.expected import Authority
from generators.errors import GeneratorError, Rule
from generators.program.conversion import Conversion
from generators.program.cooperative_vector_elementwise import (
    ARGUMENTS,
    BitOperator,
    CooperativeVectorArithmetic,
    CooperativeVectorBits,
    CooperativeVectorConvert,
    CooperativeVectorFunction,
    CooperativeVectorNegate,
    CooperativeVectorNot,
    CooperativeVectorTimesScalar,
    converts,
)
from generators.types import ComponentType

ARITHMETIC, SCALED, BITS, CONVERTED, BITCAST = (Authority(id_) for id_ in ("CV-ARI-01", "CV-ARI-03", "CV-BIT-01", "CV-CVT-01", "CV-CVT-02"))

_OF_MATRICES = ("KHR-ARI-02", "KHR-CVT-01")
"""Requirements for matrices -> the corresponding requirements for vectors."""


def _of_vectors(value: MatrixValue, authority: Authority) -> MatrixValue:
    """Return the value as the result of an instruction on vectors. Requirements about execution modes have the same number for both."""
    requirement = value.authority.requirement
    if requirement in _OF_MATRICES:
        return replace(value, authority=replace(value.authority, requirement=authority.requirement))
    return replace(value, authority=replace(value.authority, requirement=requirement.replace("KHR-FC-", "CV-FC-")))


@evaluates(CooperativeVectorNegate)
def negate(state: State, operation: CooperativeVectorNegate) -> None:
    """See cts.reference.elementwise.negated."""
    operand = state.matrices[operation.operand.name]
    found = negated(operand, float_controls.modes(state, operand.component))
    state.matrices[operation.result.name] = _of_vectors(found, ARITHMETIC)


@evaluates(CooperativeVectorArithmetic)
def arithmetic(state: State, operation: CooperativeVectorArithmetic) -> None:
    """See cts.reference.elementwise.combine."""
    left, right = state.matrices[operation.left.name], state.matrices[operation.right.name]
    modes = float_controls.modes(state, left.component)
    found = combine(operation.operator, left, right, operation.no_contraction, modes)
    state.matrices[operation.result.name] = _of_vectors(found, ARITHMETIC)


@evaluates(CooperativeVectorTimesScalar)
def times_scalar(state: State, operation: CooperativeVectorTimesScalar) -> None:
    """Multiply by a vector of one value (CV-ARI-03).

    Raises:
        GeneratorError: the components are integers, or the scalar is of another type.
    """
    vector, scalar = state.matrices[operation.vector.name], operation.scalar
    if not vector.component.is_float or scalar.type is not vector.component:
        raise GeneratorError(
            "CV-ARI-03", f"{operation.result.name} multiplies {vector.component} by {scalar.type}; use one float type (CV-ARI-03)"
        )
    bits = state.scalar(scalar).astype(vector.component.bits_dtype)
    factor = MatrixValue(vector.component, np.broadcast_to(bits[:, None, None], vector.bits.shape))
    modes = float_controls.modes(state, vector.component)
    found = combine("multiply", vector, factor, operation.no_contraction, modes)
    state.matrices[operation.result.name] = _of_vectors(found, SCALED)


@evaluates(CooperativeVectorNot)
def invert(state: State, operation: CooperativeVectorNot) -> None:
    """Complement every bit."""
    (operand,) = _integers(state, operation.operand.name)
    state.matrices[operation.result.name] = MatrixValue(operand.component, ~operand.bits, authority=BITS)


@evaluates(CooperativeVectorBits)
def bits(state: State, operation: CooperativeVectorBits) -> None:
    """See ``combined_bits``."""
    left, right = _integers(state, operation.left.name, operation.right.name)
    found = combined_bits(operation.operator, left, right)
    state.matrices[operation.result.name] = found


def _integers(state: State, *names: str) -> list[MatrixValue]:
    found = [state.matrices[name] for name in names]
    if any(one.component.is_float for one in found):
        raise GeneratorError("CV-BIT-01", f"{', '.join(names)}: instructions on bits need integers (CV-BIT-01)")
    return found


def combined_bits(operator: BitOperator, left: MatrixValue, right: MatrixValue) -> MatrixValue:
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


@evaluates(CooperativeVectorConvert)
def convert(state: State, operation: CooperativeVectorConvert) -> None:
    """Convert every component (CV-CVT-01), or keep its bits (CV-CVT-02).

    Raises:
        GeneratorError: the instruction does not take these types, the result is undefined, or a bitcast reveals the free sign of a zero.
    """
    if not converts(operation):
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
    expected = _of_vectors(converted_under(state, replace(value, permitted=None), target, conversion), CONVERTED)
    loaded = value.permitted if isinstance(value.permitted, Choice) else None
    if loaded is None or loaded.free is not None:
        expected = _of_vectors(converted_under(state, value, target, conversion), CONVERTED)
    elif isinstance(expected.known, Certain | Choice):
        inside = expected.expectation().expected
        results = [
            bits
            for other in loaded.others
            for bits in converted_under(state, MatrixValue(value.component, other), target, conversion).expected_bits
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


@evaluates(CooperativeVectorFunction)
def function(state: State, operation: CooperativeVectorFunction) -> None:
    """See cts.reference.vector_functions.

    Raises:
        GeneratorError: the number of arguments is not the function's, or as ``function_of``.
    """
    arguments = [state.matrices[argument.name] for argument in operation.arguments]
    if len(arguments) != ARGUMENTS[operation.function]:
        raise GeneratorError(
            Rule.OPERAND_COUNT, f"{operation.function} takes {ARGUMENTS[operation.function]} arguments and gets {len(arguments)}"
        )
    modes = float_controls.modes(state, arguments[0].component)
    if modes.denormals == "free" and not modes.special:
        # Each function may take a denormal for zero, as a load may have done before it; it refuses NaN and infinities.
        arguments = [replace(argument, permitted=None) for argument in arguments]
    state.matrices[operation.result.name] = function_of(operation.function, arguments, modes)
