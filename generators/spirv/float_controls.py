"""Execution modes of float arithmetic."""

from __future__ import annotations

from generators.program.float_controls import FloatMode
from generators.program.program import Program
from generators.spirv.enumerants import Capability, ExecutionMode
from generators.spirv.module import Module

_MODES = {
    FloatMode.DENORM_PRESERVE: (Capability.DenormPreserve, ExecutionMode.DenormPreserve),
    FloatMode.DENORM_FLUSH_TO_ZERO: (Capability.DenormFlushToZero, ExecutionMode.DenormFlushToZero),
    FloatMode.SIGNED_ZERO_INF_NAN_PRESERVE: (Capability.SignedZeroInfNanPreserve, ExecutionMode.SignedZeroInfNanPreserve),
    FloatMode.ROUNDING_MODE_RTE: (Capability.RoundingModeRTE, ExecutionMode.RoundingModeRTE),
    FloatMode.ROUNDING_MODE_RTZ: (Capability.RoundingModeRTZ, ExecutionMode.RoundingModeRTZ),
}


def emit_float_controls(module: Module, program: Program) -> None:
    """Declare the execution modes of float arithmetic, and the capabilities that allow them."""
    for control in program.float_controls:
        capability, mode = _MODES[control.mode]
        module.require(capability)
        module.execution_mode(mode, control.width)
