"""Execution modes that control float arithmetic (SPV_KHR_float_controls), and their meaning for a component type."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from generators.errors import GeneratorError, Rule
from generators.types import ComponentType

Rounding = Literal["free", "nearest", "toward_zero"]
Denormals = Literal["free", "kept", "flushed"]


class FloatMode(Enum):
    """An execution mode; the value is its name in SPIR-V."""

    DENORM_PRESERVE = "DenormPreserve"
    DENORM_FLUSH_TO_ZERO = "DenormFlushToZero"
    SIGNED_ZERO_INF_NAN_PRESERVE = "SignedZeroInfNanPreserve"
    ROUNDING_MODE_RTE = "RoundingModeRTE"
    ROUNDING_MODE_RTZ = "RoundingModeRTZ"


@dataclass(frozen=True)
class FloatControl:
    """An execution mode of the entry point, for float types of ``width`` bits."""

    mode: FloatMode
    width: int


@dataclass(frozen=True)
class Modes:
    """The execution modes of one component type.

    Attributes:
        rounding: direction of the rounding of correctly rounded results.
        denormals: whether arithmetic keeps denormals, makes them zero, or may do either.
        special: whether the signs of zeros, infinities and NaN must be preserved (SignedZeroInfNanPreserve).
    """

    rounding: Rounding = "free"
    denormals: Denormals = "free"
    special: bool = False


NO_MODES = Modes()

_ROUNDING: dict[FloatMode, Rounding] = {FloatMode.ROUNDING_MODE_RTE: "nearest", FloatMode.ROUNDING_MODE_RTZ: "toward_zero"}
_DENORMALS: dict[FloatMode, Denormals] = {FloatMode.DENORM_PRESERVE: "kept", FloatMode.DENORM_FLUSH_TO_ZERO: "flushed"}


def modes_of(controls: Iterable[FloatControl], component: ComponentType) -> Modes:
    """Return the modes that ``controls`` set for ``component``.

    Rounding modes do not affect bfloat16 and 8-bit floats (KHR-FC-08), and the suite asks for denormal modes only with IEEE 754 encodings
    (F-KHR-35).

    Raises:
        GeneratorError: two modes of one width exclude each other (KHR-FC-10, KHR-FC-11).
    """
    found = {control.mode for control in controls if control.width == component.bits}
    rounding = [_ROUNDING[mode] for mode in found if mode in _ROUNDING]
    denormals = [_DENORMALS[mode] for mode in found if mode in _DENORMALS]
    if len(rounding) > 1 or len(denormals) > 1:
        raise GeneratorError(Rule.MODES_CONFLICT, f"execution modes of {component.bits} bits exclude each other; give one of each kind")
    special = component.is_float and FloatMode.SIGNED_ZERO_INF_NAN_PRESERVE in found
    if not component.has_arithmetic:
        return Modes(special=special)
    return Modes(rounding[0] if rounding else "free", denormals[0] if denormals else "free", special)
