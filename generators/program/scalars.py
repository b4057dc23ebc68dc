"""Scalar instructions: the index of a scope instance, built-ins, arithmetic and conversions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
