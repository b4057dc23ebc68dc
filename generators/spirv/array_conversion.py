"""Instructions of SPV_QCOM_cooperative_matrix_conversion."""

from __future__ import annotations

from generators.program.array_conversion import BitCastArray, ConstructCoopMat, ExtractCoopMat, ExtractSubArray
from generators.spirv.enumerants import Op
from generators.spirv.shader import Shader, emits
from generators.spirv.values import compute


@emits(BitCastArray)
def emit_bitcast_array(shader: Shader, operation: BitCastArray) -> None:
    """Emit OpBitCastArrayQCOM."""
    compute(shader, Op.BitCastArrayQCOM, operation.result, operation.source)


@emits(ConstructCoopMat)
def emit_construct_coopmat(shader: Shader, operation: ConstructCoopMat) -> None:
    """Emit OpCompositeConstructCoopMatQCOM."""
    compute(shader, Op.CompositeConstructCoopMatQCOM, operation.result, operation.source)


@emits(ExtractCoopMat)
def emit_extract_coopmat(shader: Shader, operation: ExtractCoopMat) -> None:
    """Emit OpCompositeExtractCoopMatQCOM."""
    compute(shader, Op.CompositeExtractCoopMatQCOM, operation.result, operation.matrix)


@emits(ExtractSubArray)
def emit_extract_sub_array(shader: Shader, operation: ExtractSubArray) -> None:
    """Emit OpExtractSubArrayQCOM."""
    compute(shader, Op.ExtractSubArrayQCOM, operation.result, operation.source, shader.id(operation.start))
