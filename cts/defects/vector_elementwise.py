"""Defects of instructions on the components of cooperative vectors: operands exchanged, another function, another sign."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from cts.defects.defect import Defect, each_and_all, every
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from cts.reference import elementwise as on_vectors
from cts.reference.state import State
from generators.errors import GeneratorError, Rule
from generators.program.conversion import Conversion
from generators.program.elementwise import (
    BitOperator,
    CooperativeVectorArithmetic,
    CooperativeVectorBits,
    CooperativeVectorConvert,
    CooperativeVectorFunction,
    CooperativeVectorNegate,
    CooperativeVectorNot,
    CooperativeVectorTimesScalar,
    Operator,
    VectorFunction,
    takes,
)
from generators.program.program import Program
from generators.program.values import Scalar, Value

Elementwise = (
    CooperativeVectorNegate
    | CooperativeVectorNot
    | CooperativeVectorArithmetic
    | CooperativeVectorBits
    | CooperativeVectorTimesScalar
    | CooperativeVectorConvert
    | CooperativeVectorFunction
)

_OTHER_OPERATORS: tuple[tuple[Operator, Operator], ...] = (
    ("add", "subtract"),
    ("subtract", "add"),
    ("multiply", "add"),
    ("divide", "multiply"),
)

_OTHER_BITS: tuple[tuple[BitOperator, BitOperator], ...] = (
    ("and", "or"),
    ("or", "xor"),
    ("xor", "or"),
    ("shift_left", "shift_right_logical"),
    ("shift_right_logical", "shift_right_arithmetic"),
    ("shift_right_arithmetic", "shift_right_logical"),
)

_OTHER_FUNCTIONS: Mapping[VectorFunction, VectorFunction] = MappingProxyType(
    {
        **{"FMin": "FMax", "FMax": "FMin", "NMin": "NMax", "NMax": "NMin"},
        **{"UMin": "SMin", "SMin": "UMin", "UMax": "SMax", "SMax": "UMax", "UClamp": "SClamp", "SClamp": "UClamp"},
    }
)

_OTHER_SIGN: Mapping[Conversion, Conversion] = MappingProxyType(
    {
        Conversion.S_TO_F: Conversion.U_TO_F,
        Conversion.U_TO_F: Conversion.S_TO_F,
        Conversion.S_TO_S: Conversion.U_TO_U,
        Conversion.U_TO_U: Conversion.S_TO_S,
    }
)


def _result(operation: Elementwise) -> str:
    return operation.result.name


def _exchanged(state: State, operation: CooperativeVectorArithmetic | CooperativeVectorBits) -> None:
    other = replace(operation, left=operation.right, right=operation.left)
    if isinstance(other, CooperativeVectorArithmetic):
        on_vectors.arithmetic(state, other)
    else:
        on_vectors.bits(state, other)


def _of_one_operand(operand: str) -> Substitute:
    """Build a step that uses ``operand`` (left or right) as both operands."""

    def step(state: State, operation: CooperativeVectorArithmetic | CooperativeVectorBits) -> None:
        chosen = operation.left if operand == "left" else operation.right
        other = replace(operation, left=chosen, right=chosen)
        if isinstance(other, CooperativeVectorArithmetic):
            on_vectors.arithmetic(state, other)
        else:
            on_vectors.bits(state, other)

    return step


def _rest_unchanged(state: State, operation: CooperativeVectorArithmetic | CooperativeVectorBits) -> None:
    """Compute whole groups of four components, and leave the remaining components as in the left operand."""
    if isinstance(operation, CooperativeVectorArithmetic):
        on_vectors.arithmetic(state, operation)
    else:
        on_vectors.bits(state, operation)
    value, operand = state.matrices[operation.result.name], state.matrices[operation.left.name]
    if not value.is_certain or not operand.is_certain:
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "components that may have several values cannot be joined with others")
    bits = value.bits.copy()
    whole = bits.shape[2] // 4 * 4
    bits[:, :, whole:] = operand.bits[:, :, whole:]
    state.matrices[operation.result.name] = replace(value, bits=bits)


def _as_arithmetic(operator: Operator) -> Substitute:
    return lambda state, operation: on_vectors.arithmetic(state, replace(operation, operator=operator))


def _as_bits(operator: BitOperator) -> Substitute:
    return lambda state, operation: on_vectors.bits(state, replace(operation, operator=operator))


def _as_function(state: State, operation: CooperativeVectorFunction) -> None:
    on_vectors.function(state, replace(operation, function=_OTHER_FUNCTIONS[operation.function]))


def _arguments_exchanged(state: State, operation: CooperativeVectorFunction) -> None:
    """Compute Step(x, edge), or Fma(c, b, a)."""
    on_vectors.function(state, replace(operation, arguments=operation.arguments[::-1]))


def _limits_exchanged(state: State, operation: CooperativeVectorFunction) -> None:
    """Clamp with exchanged limits, so the result is never above the minimum."""
    _, low, high = operation.arguments
    names: Mapping[str, tuple[VectorFunction, VectorFunction]] = {
        "F": ("FMax", "FMin"),
        "N": ("NMax", "NMin"),
        "U": ("UMax", "UMin"),
        "S": ("SMax", "SMin"),
    }
    maximum, minimum = names[operation.function[0]]
    result = operation.result
    on_vectors.function(state, CooperativeVectorFunction(result, maximum, (operation.arguments[0], high)))
    on_vectors.function(state, CooperativeVectorFunction(result, minimum, (result, low)))


def _converted_by_other_sign(state: State, operation: CooperativeVectorConvert) -> None:
    value, target = state.matrices[operation.vector.name], operation.result.type.component
    on_vectors.convert_by(state, operation.result.name, value, target, _OTHER_SIGN[operation.conversion])


def _unchanged(state: State, operation: Elementwise) -> None:
    if isinstance(operation, CooperativeVectorFunction):
        operand = operation.arguments[0]
    elif isinstance(operation, CooperativeVectorArithmetic | CooperativeVectorBits):
        operand = operation.left
    elif isinstance(operation, CooperativeVectorNegate | CooperativeVectorNot):
        operand = operation.operand
    else:
        operand = operation.vector
    state.matrices[operation.result.name] = state.matrices[operand.name]


def _scalar_of_first(state: State, operation: CooperativeVectorTimesScalar) -> None:
    scalar = state.scalar(operation.scalar)
    name = "the scalar of the first invocation"
    state.scalars[name] = np.broadcast_to(scalar[:1], scalar.shape)
    first: Scalar = Value(name, operation.scalar.type)
    on_vectors.times_scalar(state, replace(operation, scalar=first))


@defects_of("vector_elementwise", Elementwise)
def vector_elementwise_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of instructions on the components of cooperative vectors in ``program``."""

    def of(chosen: list[Elementwise], name: str, step: Substitute, **kinds: str) -> Iterator[Defect]:
        return each_and_all(chosen, f"vector_elementwise.{name}", "result", _result, step, None, **kinds)

    arithmetic, bits = every(program.operations, CooperativeVectorArithmetic), every(program.operations, CooperativeVectorBits)
    ordered = [o for o in arithmetic if o.left != o.right and o.operator not in ("add", "multiply")]
    shifts = [o for o in bits if o.left != o.right and o.operator.startswith("shift")]
    yield from of([*ordered, *shifts], "operands_exchanged", _exchanged)
    two: list[CooperativeVectorArithmetic | CooperativeVectorBits] = [*arithmetic, *bits]
    distinct = [o for o in two if o.left != o.right]
    for operand in ("left", "right"):
        yield from of([*distinct], "one_operand", _of_one_operand(operand), operand=operand)
    uneven = [o for o in two if o.result.type.count % 4]
    yield from of([*uneven], "rest_unchanged", _rest_unchanged)
    for right, wrong in _OTHER_OPERATORS:
        those = [o for o in arithmetic if o.operator == right]
        yield from of([*those], "other_operator", _as_arithmetic(wrong), wrong=wrong, right=right)
    for shifted, other in _OTHER_BITS:
        yield from of([o for o in bits if o.operator == shifted], "other_bits", _as_bits(other), wrong=other, right=shifted)
    functions = every(program.operations, CooperativeVectorFunction)
    for function, wrongly in _OTHER_FUNCTIONS.items():
        chosen = [o for o in functions if o.function == function and takes(wrongly, o.result.type.component)]
        yield from of([*chosen], "other_function", _as_function, wrong=wrongly, right=function)
    yield from of([o for o in functions if o.function in ("Step", "Fma")], "arguments_exchanged", _arguments_exchanged)
    yield from of([o for o in functions if o.function.endswith("Clamp")], "limits_exchanged", _limits_exchanged)
    conversions = every(program.operations, CooperativeVectorConvert)
    widened = [o for o in conversions if o.conversion in _OTHER_SIGN and _shows_sign(o)]
    yield from of([*widened], "converted_by_other_sign", _converted_by_other_sign)
    scaled = every(program.operations, CooperativeVectorTimesScalar)
    yield from of([*scaled], "scalar_of_first_invocation", _scalar_of_first)
    alike = [o for o in functions if o.function != "Step"]
    negated, inverted = every(program.operations, CooperativeVectorNegate), every(program.operations, CooperativeVectorNot)
    yield from of([*arithmetic, *bits, *alike, *negated, *inverted, *scaled], "unchanged", _unchanged)


def _shows_sign(operation: CooperativeVectorConvert) -> bool:
    """Tell whether the result depends on the signedness of the integer read: it does if the result is a float, or wider."""
    source, target = operation.vector.type.component, operation.result.type.component
    return target.is_float or target.bits > source.bits
