"""Instructions of SPV_QCOM_cooperative_matrix_conversion."""

from __future__ import annotations

from generators.program.array_conversion import BitCastArray, ConstructCoopMat, ExtractCoopMat, ExtractSubArray
from generators.program.values import AnyValue
from generators.spirv.enumerants import Capability, Op
from generators.spirv.shader import Shader, emits
from generators.spirv.variables import type_id


@emits(BitCastArray)
def emit_bitcast_array(shader: Shader, operation: BitCastArray) -> None:
    """Emit OpBitCastArrayQCOM."""
    _emit(shader, Op.BitCastArrayQCOM, operation.result, shader.define(operation.source))


@emits(ConstructCoopMat)
def emit_construct_coopmat(shader: Shader, operation: ConstructCoopMat) -> None:
    """Emit OpCompositeConstructCoopMatQCOM."""
    _emit(shader, Op.CompositeConstructCoopMatQCOM, operation.result, shader.define(operation.source))


@emits(ExtractCoopMat)
def emit_extract_coopmat(shader: Shader, operation: ExtractCoopMat) -> None:
    """Emit OpCompositeExtractCoopMatQCOM."""
    _emit(shader, Op.CompositeExtractCoopMatQCOM, operation.result, shader.define(operation.matrix))


@emits(ExtractSubArray)
def emit_extract_sub_array(shader: Shader, operation: ExtractSubArray) -> None:
    """Emit OpExtractSubArrayQCOM."""
    _emit(shader, Op.ExtractSubArrayQCOM, operation.result, shader.define(operation.source), shader.id(operation.start))


def _emit(shader: Shader, op: Op, result: AnyValue, *operands: int) -> None:
    shader.module.require(Capability.CooperativeMatrixConversionQCOM)
    shader.module.value(op, type_id(shader, result.type), *operands, result=shader.define(result))
