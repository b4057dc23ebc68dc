"""Scalar instructions: the index of a scope instance, arithmetic, conversions, and loads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.program.memory import Array
from generators.program.operation import Operation
from generators.program.values import Scalar, ScalarValue


@dataclass(frozen=True)
class InstanceIndex(Operation):
    """``result`` (u32) numbers the scope instances of the dispatch: WorkgroupIndex * NumSubgroups + SubgroupId for subgroup scope,
    WorkgroupIndex for workgroup scope. WorkgroupIndex is WorkgroupId.x, and where a program has workgroups along y or z
    (WorkgroupId.z * NumWorkgroups.y + WorkgroupId.y) * NumWorkgroups.x + WorkgroupId.x."""

    result: Scalar


@dataclass(frozen=True)
class BuiltInIndex(Operation):
    """``result`` (u32) is WorkgroupId.x or SubgroupId."""

    result: Scalar
    which: Literal["workgroup", "subgroup"]


ScalarOperator = Literal["add", "subtract", "multiply", "divide", "modulo", "and", "or", "xor", "shift_left", "shift_right"]
"""``divide`` and ``modulo`` are of unsigned integers, and not by 0. Shifts, and, or, xor are of integers; a right shift of a signed integer
keeps its sign, and no shift is by the width or more."""


@dataclass(frozen=True)
class ScalarArithmetic(Operation):
    """``result`` = ``left`` (operator) ``right``, all of one type; integers wrap, and float results are exact."""

    result: Scalar
    operator: ScalarOperator
    left: ScalarValue
    right: ScalarValue


@dataclass(frozen=True)
class ScalarConvert(Operation):
    """``result`` is ``value`` converted to its type by the signedness of both types: exact, or an integer truncated."""

    result: Scalar
    value: ScalarValue


@dataclass(frozen=True)
class ScalarStore(Operation):
    """Element ``index`` (u32) of ``array``, an array of scalars of the value's type in a storage buffer or in workgroup memory, becomes
    ``value``. Each element that is stored is stored once."""

    array: Array
    index: ScalarValue
    value: ScalarValue


@dataclass(frozen=True)
class ScalarLoad(Operation):
    """``result`` is element ``index`` (u32) of ``array``, an array of scalars of the result's type in a storage buffer or in workgroup
    memory."""

    result: Scalar
    array: Array
    index: ScalarValue
