"""Execution modes of float arithmetic (SPV_KHR_float_controls; Vulkan, "Precision and Operation of SPIR-V Instructions").

The device computes like its host: to nearest, ties to even, with denormals, infinities, signed zeros and NaN. So RoundingModeRTE,
DenormPreserve and SignedZeroInfNanPreserve change nothing. RoundingModeRTZ corrects results toward zero, and DenormFlushToZero makes
denormal results zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cts.embedded.diagnostics import Violation
from cts.embedded.faults import replaceable
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.spirv_types import Number
from cts.embedded.types.values import Value
from generators.numerics.formats import smallest_normal
from generators.spirv.enumerants import ExecutionMode, Op

Function = Callable[..., Value]

_DENORMALS = (ExecutionMode.DenormPreserve, ExecutionMode.DenormFlushToZero)
_ROUNDING = (ExecutionMode.RoundingModeRTE, ExecutionMode.RoundingModeRTZ)
_MODES = frozenset((*_DENORMALS, *_ROUNDING, ExecutionMode.SignedZeroInfNanPreserve))
_IEEE = frozenset({"f16", "f32", "f64"})
_ROUNDED = frozenset({Op.FAdd, Op.FSub, Op.FMul, Op.FConvert, Op.MatrixTimesScalar, Op.VectorTimesScalar})
_FLUSHED = _ROUNDED | {Op.FDiv, Op.FNegate, Op.FRem, Op.FMod, Op.ExtInst}
"""The instructions whose results the modes flush. Only some extended instructions are corrected."""


def note_mode(translation: Translation, words: Words) -> None:
    """Note an execution mode of the entry point if it is a mode of float arithmetic.

    Raises:
        Violation: it contradicts another mode of the same width.
    """
    mode = words[1]
    if mode not in _MODES:
        return
    width, others = words[2], translation.float_modes
    for kind in (_DENORMALS, _ROUNDING):
        if mode in kind and any((other, width) in others for other in kind if other != mode):
            raise Violation("SPIR-V 2.16.1", f"both {kind[0].name} and {kind[1].name} for {width} bits")
    others.add((mode, width))


@dataclass(frozen=True)
class Corrections:
    """The corrections of a result: ``truncates`` rounds it toward zero, ``flushes`` makes denormals zero."""

    truncates: bool = False
    flushes: bool = False


@replaceable
def corrections(translation: Translation, op: Op, number: Number) -> Corrections:
    """Return the corrections that the modes require of the results of ``op``, of type ``number``: none except for IEEE 754 floats."""
    ieee = number.component.name in _IEEE
    modes = {mode for mode, width in translation.float_modes if ieee and width == number.bits}
    return Corrections(
        ExecutionMode.RoundingModeRTZ in modes and op in _ROUNDED, ExecutionMode.DenormFlushToZero in modes and op in _FLUSHED
    )


def corrected(translation: Translation, op: Op, number: Number, function: Function) -> Function:
    """Return ``function``, which computes ``op`` to nearest, with its results corrected for the modes."""
    if not translation.float_modes or not number.is_float:
        return function
    asked = translation.performing(corrections)(translation, op, number)
    if not (asked.truncates or asked.flushes):
        return function

    def run(*operands: Value) -> Value:
        result = np.asarray(function(*operands), number.dtype)
        if asked.truncates:
            result = _truncated(op, result, operands)
        if asked.flushes:
            tiny = np.abs(result) < smallest_normal(number.component)
            result = np.where(tiny, np.copysign(number.dtype.type(0), result), result)
        return result if result.ndim else result[()]

    return run


def _exact(op: Op, operands: tuple[float, ...]) -> Fraction:
    fractions = [Fraction(operand) for operand in operands]
    match op:
        case Op.FAdd:
            return fractions[0] + fractions[1]
        case Op.FSub:
            return fractions[0] - fractions[1]
        case Op.FConvert:
            return fractions[0]
        case _:
            return fractions[0] * fractions[1]


def _truncated(op: Op, result: np.ndarray, operands: tuple[Value, ...]) -> np.ndarray:
    """Truncate results to nearest: move each one a step toward zero if it is farther from zero than the exact result."""
    lists = [np.broadcast_to(np.asarray(operand), result.shape).astype(np.float64).ravel().tolist() for operand in operands]
    found = result.ravel().copy()
    for at, exact in enumerate(zip(*lists, strict=True)):
        if not np.isfinite(exact).all() or np.isnan(found[at]):
            continue
        if np.isinf(found[at]) or abs(Fraction(float(found[at]))) > abs(_exact(op, exact)):
            found[at] = np.nextafter(found[at], found.dtype.type(0))
    return found.reshape(result.shape)
