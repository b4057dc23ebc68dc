"""Scalar instructions: the index of a scope instance, and the arithmetic of addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.program.memory import Array
from generators.program.values import Scalar, ScalarValue


@dataclass(frozen=True)
class InstanceIndex:
    """``result`` (u32) numbers the scope instances of the dispatch: WorkgroupIndex * NumSubgroups + SubgroupId for subgroup scope,
    WorkgroupIndex for workgroup scope. WorkgroupIndex is WorkgroupId.x, and where a program has workgroups along y or z
    (WorkgroupId.z * NumWorkgroups.y + WorkgroupId.y) * NumWorkgroups.x + WorkgroupId.x."""

    result: Scalar


@dataclass(frozen=True)
class BuiltInIndex:
    """``result`` (u32) is WorkgroupId.x or SubgroupId."""

    result: Scalar
    which: Literal["workgroup", "subgroup"]


ScalarOperator = Literal["add", "multiply", "divide", "modulo"]
"""``divide`` and ``modulo`` are those of unsigned integers, and not by 0."""


@dataclass(frozen=True)
class ScalarArithmetic:
    """``result`` = ``left`` (operator) ``right``; wraps. Both operands and the result have one type."""

    result: Scalar
    operator: ScalarOperator
    left: ScalarValue
    right: ScalarValue


@dataclass(frozen=True)
class ScalarLoad:
    """``result`` is element ``index`` (u32) of ``array``, a storage buffer of scalars of the result's type."""

    result: Scalar
    array: Array
    index: ScalarValue
