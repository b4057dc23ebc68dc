"""Execution modes of float arithmetic as parameters of a case: the modes for its types, and the results that they affect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from generators.parameters.declaration import parameter
from generators.program.float_controls import FloatControl, FloatMode
from generators.types import ComponentType

_ROUNDED = ("add", "subtract", "multiply", "times_scalar", "convert")
"""Operations with correctly rounded results."""

_ROUNDING = {"rte": FloatMode.ROUNDING_MODE_RTE, "rtz": FloatMode.ROUNDING_MODE_RTZ}
_DENORMALS = {"preserve": FloatMode.DENORM_PRESERVE, "flush": FloatMode.DENORM_FLUSH_TO_ZERO}
_OPPOSITE = {"rte": "rtz", "rtz": "rte", "preserve": "flush", "flush": "preserve"}
_OTHER_WIDTH = {16: 32, 32: 16, 64: 32}


class Computation(Protocol):
    """The parameters of a case that has one operation and execution modes."""

    @property
    def component(self) -> ComponentType: ...

    @property
    def operation(self) -> str: ...

    @property
    def to(self) -> ComponentType: ...

    @property
    def rounding(self) -> str: ...

    @property
    def denormals(self) -> str: ...

    @property
    def special(self) -> str: ...

    @property
    def others(self) -> str: ...


def _has_opposites(parameters: Computation) -> bool:
    return parameters.operation != "convert" and (parameters.rounding != "none" or parameters.denormals != "none")


MODES = ("rounding", "denormals", "special")
"""The parameters of ``ModeParameters``."""


@dataclass(frozen=True, kw_only=True)
class ModeParameters:
    """The modes of a case."""

    rounding: Literal["none", "rte", "rtz"] = parameter("RoundingModeRTE or RoundingModeRTZ for the widths of the operands", default="none")
    denormals: Literal["none", "preserve", "flush"] = parameter("DenormPreserve or DenormFlushToZero for these widths", default="none")
    special: Literal["none", "preserve"] = parameter("SignedZeroInfNanPreserve for these widths", default="none")


def opposites() -> Any:
    """Declare the parameter ``others``: ``none``, or ``opposite`` if widths that no operand has get the opposite modes."""
    return parameter("modes of a width that no operand has", default="none", applies=_has_opposites)


def target(case: Computation) -> ComponentType:
    """Return the component type of the result."""
    return case.to if case.operation == "convert" else case.component


def _widens(case: Computation) -> bool:
    return case.operation == "convert" and case.to.precision >= case.component.precision


def is_rounded(case: Computation) -> bool:
    """Tell whether a rounding mode affects results."""
    return case.rounding != "none" and case.operation in _ROUNDED and not _widens(case) and target(case).has_arithmetic


def is_denormal(case: Computation) -> bool:
    """Tell whether a denormal mode affects results, or must not affect moves."""
    if not (case.component.has_arithmetic and target(case).has_arithmetic):
        return False
    if case.operation == "divide" or _widens(case):
        # DenormPreserve does not name OpFDiv. A denormal operand may be flushed by DenormFlushToZero, and its result is normal.
        return case.denormals == ("flush" if case.operation == "divide" else "preserve")
    return case.denormals != "none"


def binds(case: Computation) -> bool:
    """Tell whether each mode of a case affects its results."""
    if case.component is target(case) and case.operation == "convert":
        return False
    if not case.component.has_arithmetic and case.operation not in ("move", "convert"):
        return False
    asked = (case.rounding != "none", case.denormals != "none", case.special != "none")
    return any(asked) and (not asked[0] or is_rounded(case)) and (not asked[1] or is_denormal(case))


def pattern_binds(case: Computation, pattern: str) -> bool:
    """Tell whether a mode of the case decides results of a pattern of ``generators.inputs.float_controls``."""
    match pattern:
        case "between" | "random":
            return is_rounded(case)
        case "denormals":
            return is_denormal(case)
        case "overflow":
            return is_rounded(case) and (case.rounding == "rtz" or case.special == "preserve")
        case "special":
            return case.special == "preserve"
        case _:
            return case.special == "preserve" and case.operation in ("move", "convert", "negate")


def controls(case: Computation) -> tuple[FloatControl, ...]:
    """Return the execution modes of a case. A conversion has modes for both of its widths (F-KHR-34)."""
    widths = sorted({case.component.bits, target(case).bits})
    found = []
    for table, label in ((_ROUNDING, case.rounding), (_DENORMALS, case.denormals)):
        if label != "none":
            found += [FloatControl(table[label], width) for width in widths]
            if case.others == "opposite":
                found.append(FloatControl(table[_OPPOSITE[label]], _OTHER_WIDTH[case.component.bits]))
    if case.special == "preserve":
        found += [FloatControl(FloatMode.SIGNED_ZERO_INF_NAN_PRESERVE, width) for width in widths]
    return tuple(found)
