"""Defects of instructions on the components of cooperative vectors: operands exchanged, another function, another sign."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from cts.defects.conversions import not_converted, saturated
from cts.defects.defect import Defect, Each, every
from cts.defects.edits import copied, exchanged, given, instead, of_first, then, unchanged, with_scalar
from cts.defects.known import defects_of
from cts.reference.elementwise import convert_by
from cts.reference.evaluate import perform
from cts.reference.state import State
from generators.errors import GeneratorError, Rule
from generators.program.conversion import Conversion
from generators.program.elementwise import (
    CooperativeVectorArithmetic,
    CooperativeVectorBits,
    CooperativeVectorConvert,
    CooperativeVectorFunction,
    CooperativeVectorNegate,
    CooperativeVectorNot,
    CooperativeVectorTimesScalar,
    VectorFunction,
    takes,
)
from generators.program.program import Program

Elementwise = (
    CooperativeVectorNegate
    | CooperativeVectorNot
    | CooperativeVectorArithmetic
    | CooperativeVectorBits
    | CooperativeVectorTimesScalar
    | CooperativeVectorConvert
    | CooperativeVectorFunction
)

_OTHER_OPERATORS: tuple[tuple[str, str], ...] = (
    ("add", "subtract"),
    ("subtract", "add"),
    ("multiply", "add"),
    ("divide", "multiply"),
)

_OTHER_BITS: tuple[tuple[str, str], ...] = (
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


def _rest_unchanged(state: State, operation: CooperativeVectorArithmetic | CooperativeVectorBits) -> None:
    """Compute whole groups of four components, and leave the remaining components as in the left operand."""
    perform(state, operation)
    value, operand = state.matrices[operation.result.name], state.matrices[operation.left.name]
    if not value.is_certain or not operand.is_certain:
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "components that may have several values cannot be joined with others")
    bits = value.bits.copy()
    whole = bits.shape[2] // 4 * 4
    bits[:, :, whole:] = operand.bits[:, :, whole:]
    state.matrices[operation.result.name] = replace(value, bits=bits)


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
    perform(state, CooperativeVectorFunction(result, maximum, (operation.arguments[0], high)))
    perform(state, CooperativeVectorFunction(result, minimum, (result, low)))


def _converted_by_other_sign(state: State, operation: CooperativeVectorConvert) -> None:
    value, target = state.matrices[operation.vector.name], operation.result.type.component
    convert_by(state, operation.result.name, value, target, _OTHER_SIGN[operation.conversion])


_of = Each("vector_elementwise", "result")


@defects_of("vector_elementwise", Elementwise)
def vector_elementwise_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of instructions on the components of cooperative vectors in ``program``."""
    arithmetic, bits = every(program.operations, CooperativeVectorArithmetic), every(program.operations, CooperativeVectorBits)
    two: list[CooperativeVectorArithmetic | CooperativeVectorBits] = [*arithmetic, *bits]
    distinct = [o for o in two if o.left != o.right]
    ordered = [o for o in distinct if o.operator not in ("add", "multiply", "and", "or", "xor")]
    yield from _of(ordered, "operands_exchanged", exchanged("left", "right"))
    yield from _of(distinct, "one_operand", copied("left", "right"), operand="left")
    yield from _of(distinct, "one_operand", copied("right", "left"), operand="right")
    yield from _of([o for o in two if o.result.type.count % 4], "rest_unchanged", _rest_unchanged)
    for name, pairs in (("other_operator", _OTHER_OPERATORS), ("other_bits", _OTHER_BITS)):
        for right, wrong in pairs:
            yield from _of([o for o in two if o.operator == right], name, given(operator=wrong), wrong=wrong, right=right)
    functions = every(program.operations, CooperativeVectorFunction)
    for function, other in _OTHER_FUNCTIONS.items():
        chosen = [o for o in functions if o.function == function and takes(other, o.result.type.component)]
        yield from _of(chosen, "other_function", given(function=other), wrong=other, right=function)
    # Step(x, edge), or Fma(c, b, a).
    reversed_ = instead(lambda operation: replace(operation, arguments=operation.arguments[::-1]))
    yield from _of([o for o in functions if o.function in ("Step", "Fma")], "arguments_exchanged", reversed_)
    yield from _of([o for o in functions if o.function.endswith("Clamp")], "limits_exchanged", _limits_exchanged)
    conversions = every(program.operations, CooperativeVectorConvert)
    widened = [o for o in conversions if o.conversion in _OTHER_SIGN and _shows_sign(o)]
    yield from _of(widened, "converted_by_other_sign", _converted_by_other_sign)
    casts = [o for o in conversions if o.conversion is Conversion.BITCAST]
    yield from _of([o for o in casts if not o.result.type.component.is_float], "cast_saturates", then(saturated))
    yield from _of([o for o in conversions if o not in casts], "not_converted", not_converted("vector"))
    scaled = every(program.operations, CooperativeVectorTimesScalar)
    yield from _of(scaled, "scalar_of_first_invocation", with_scalar("scalar", of_first))
    alike = [o for o in functions if o.function != "Step"]
    negated, inverted = every(program.operations, CooperativeVectorNegate), every(program.operations, CooperativeVectorNot)
    yield from _of([*arithmetic, *bits, *alike, *negated, *inverted, *scaled], "unchanged", unchanged)


def _shows_sign(operation: CooperativeVectorConvert) -> bool:
    """Tell whether the result depends on the signedness of the integer read: it does if the result is a float, or wider."""
    source, target = operation.vector.type.component, operation.result.type.component
    return target.is_float or target.bits > source.bits
