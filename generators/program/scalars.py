"""Scalar instructions: the index of a scope instance, and the arithmetic of addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.program.values import Scalar, ScalarValue


@dataclass(frozen=True)
class InstanceIndex:
    """``result`` (u32) numbers the scope instances of the dispatch: WorkgroupIndex * NumSubgroups + SubgroupId for subgroup scope,
    WorkgroupIndex for workgroup scope, where WorkgroupIndex is WorkgroupId.x."""

    result: Scalar


@dataclass(frozen=True)
class BuiltInIndex:
    """``result`` (u32) is WorkgroupId.x or SubgroupId."""

    result: Scalar
    which: Literal["workgroup", "subgroup"]


@dataclass(frozen=True)
class ScalarArithmetic:
    """``result`` = ``left`` (add, multiply) ``right``; wraps. Both operands and the result have one type."""

    result: Scalar
    operator: Literal["add", "multiply"]
    left: ScalarValue
    right: ScalarValue
