"""Extended instructions of GLSL.std.450 on scalars whose results are exact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from generators.errors import GeneratorError
from generators.program.operation import Operation
from generators.program.values import Scalar, ScalarValue

ExtendedName = Literal["minimum", "maximum", "clamp", "absolute", "floor", "fused"]
"""``fused`` is Fma, of floats; ``floor`` is of floats, and ``absolute`` of floats and signed integers."""

OPERANDS: Mapping[ExtendedName, int] = MappingProxyType({"minimum": 2, "maximum": 2, "clamp": 3, "absolute": 1, "floor": 1, "fused": 3})
"""By instruction: the number of its operands."""


@dataclass(frozen=True)
class Extended(Operation):
    """``result`` is what the instruction ``which`` gives for ``operands``, all of one type. ``clamp`` has the value, the least and the
    greatest result; a float result is exact."""

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
        raise GeneratorError(f"{name}: {which} takes {OPERANDS[which]} operands, not {len(operation.operands)}")
    if any(operand.type is not component for operand in operation.operands):
        raise GeneratorError(f"{name}: give all operands of {which} the type {component}")
    if not component.has_arithmetic or (which in ("floor", "fused") and not component.is_float):
        raise GeneratorError(f"{name}: {component} has no {which}; use another type")
    if which == "absolute" and not component.is_signed and not component.is_float:
        raise GeneratorError(f"{name}: {component} has no {which}; use another type")
