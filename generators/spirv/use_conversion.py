"""OpCooperativeMatrixConvertNV and OpCooperativeMatrixTransposeNV."""

from __future__ import annotations

from generators.program.use_conversion import Transpose, UseConvert
from generators.spirv.enumerants import Capability, Op
from generators.spirv.shader import Shader, emits


@emits(UseConvert)
def emit_use_convert(shader: Shader, operation: UseConvert) -> None:
    """Emit a conversion of the use."""
    shader.module.require(use_capability(shader))
    _emit(shader, Op.CooperativeMatrixConvertUseEXT, operation)


@emits(Transpose)
def emit_transpose(shader: Shader, operation: Transpose) -> None:
    """Emit a transposition."""
    shader.module.require(Capability.CooperativeMatrixConversionsNV)
    _emit(shader, Op.CooperativeMatrixTransposeNV, operation)


def use_capability(shader: Shader) -> Capability:
    """Return the capability that lets conversions change the use."""
    extended = shader.program.maintenance1
    return Capability.CooperativeMatrixConversionsEXT if extended else Capability.CooperativeMatrixConversionsNV


def _emit(shader: Shader, op: Op, operation: UseConvert | Transpose) -> None:
    type_ = shader.matrix_type(operation.result.type)
    shader.module.value(op, type_, shader.define(operation.matrix), result=shader.define(operation.result))
