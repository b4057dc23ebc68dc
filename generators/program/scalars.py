"""Scalar instructions: the index of a scope instance, built-ins, arithmetic, conversions, and extended instructions of GLSL.std.450."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from generators.errors import GeneratorError, Rule
from generators.program.operation import InvocationOperation, Operation
from generators.program.values import Scalar, ScalarValue


@dataclass(frozen=True)
class InstanceIndex(Operation):
    """``result`` (u32) numbers the scope instances of the dispatch: WorkgroupIndex * NumSubgroups + SubgroupId for subgroup scope,
    WorkgroupIndex for workgroup scope. WorkgroupIndex is WorkgroupId.x or, if a program has workgroups along y or z,
    (WorkgroupId.z * NumWorkgroups.y + WorkgroupId.y) * NumWorkgroups.x + WorkgroupId.x."""

    result: Scalar


BuiltInName = Literal[
    "workgroup",
    "workgroup_y",
    "workgroup_z",
    "workgroups_x",
    "workgroups_y",
    "workgroup_invocations",
    "local_invocation",
    "subgroup",
    "subgroups",
    "subgroup_size",
    "subgroup_invocation",
    "draw_invocation",
]
"""WorkgroupId.x, .y and .z, NumWorkgroups.x and .y, the number of invocations in a workgroup, LocalInvocationIndex, SubgroupId,
NumSubgroups, SubgroupSize and SubgroupLocalInvocationId; and outside compute the index of the invocation in its draw
(generators.stages.Draw)."""


@dataclass(frozen=True)
class BuiltInScalar(Operation):
    """``result`` (u32) is a number that the environment supplies to each invocation."""

    result: Scalar
    which: BuiltInName


ScalarOperator = Literal["add", "subtract", "multiply", "divide", "modulo", "and", "or", "xor", "shift_left", "shift_right"]
"""``divide`` and ``modulo`` are for integers, and never by 0; a quotient is rounded toward zero, and the operands of ``modulo`` are not
negative. Shifts, and, or, xor are for integers; a right shift of a signed integer keeps its sign, and shift amounts are less than the
width."""


@dataclass(frozen=True)
class ScalarArithmetic(InvocationOperation):
    """``result`` = ``left`` (operator) ``right``, all of one type; integers wrap, and float results are exact."""

    result: Scalar
    operator: ScalarOperator
    left: ScalarValue
    right: ScalarValue


@dataclass(frozen=True)
class ScalarConvert(InvocationOperation):
    """``result`` is ``value`` converted to its type by the signedness of both types: exact, or an integer truncated."""

    result: Scalar
    value: ScalarValue


ExtendedName = Literal[
    "minimum", "maximum", "clamp", "absolute", "floor", "fused",
    "exponential", "power_of_two", "logarithm", "inverse_root", "hyperbolic_tangent",
]  # fmt: skip
"""``fused`` is Fma, for floats; ``floor`` is for floats, and ``absolute`` for floats and signed integers. The instructions in the second
line are for f16 and f32."""

OPERANDS: Mapping[ExtendedName, int] = MappingProxyType(
    {
        "minimum": 2,
        "maximum": 2,
        "clamp": 3,
        "absolute": 1,
        "floor": 1,
        "fused": 3,
        "exponential": 1,
        "power_of_two": 1,
        "logarithm": 1,
        "inverse_root": 1,
        "hyperbolic_tangent": 1,
    }
)
"""By instruction: the number of its operands."""

BoundedFunction = Literal["Exp", "Exp2", "Log", "InverseSqrt", "Tanh", "Atan", "Fma"]
"""The GLSL.std.450 instructions whose float results have error bounds (facts.md C28), by name."""

BOUNDED: Mapping[ExtendedName, BoundedFunction] = MappingProxyType(
    {
        "exponential": "Exp",
        "power_of_two": "Exp2",
        "logarithm": "Log",
        "inverse_root": "InverseSqrt",
        "hyperbolic_tangent": "Tanh",
    }
)
"""The scalar instructions whose results are not exact."""


@dataclass(frozen=True)
class Extended(InvocationOperation):
    """``result`` is the result of the instruction ``which`` on ``operands``, all of one type. The operands of ``clamp`` are the value, the
    smallest and the largest result. A float result is exact, except for the instructions in ``BOUNDED``."""

    result: Scalar
    which: ExtendedName
    operands: tuple[ScalarValue, ...]


def check_extended(operation: Extended) -> None:
    """Check that the instruction has these operands.

    Raises:
        GeneratorError: their number or type is wrong.
    """
    component, which, name = operation.result.type, operation.which, operation.result.name
    if len(operation.operands) != OPERANDS[which]:
        raise GeneratorError(Rule.OPERAND_COUNT, f"{name}: {which} takes {OPERANDS[which]} operands, not {len(operation.operands)}")
    if any(operand.type is not component for operand in operation.operands):
        raise GeneratorError(Rule.TYPES_DIFFER, f"{name}: give all operands of {which} the type {component}")
    if not component.has_arithmetic or (which in ("floor", "fused") and not component.is_float):
        raise GeneratorError(Rule.COMPONENT_TYPE, f"{name}: {component} has no {which}; use another type")
    if which in BOUNDED and not (component.is_float and component.bits in (16, 32)):
        raise GeneratorError(Rule.COMPONENT_TYPE, f"{name}: {component} has no {which}; use f16 or f32")
    if which == "absolute" and not component.is_signed and not component.is_float:
        raise GeneratorError(Rule.COMPONENT_TYPE, f"{name}: {component} has no {which}; use another type")
