"""Built-in functions of GL_QCOM_cooperative_matrix_conversion, which write their last argument."""

from __future__ import annotations

from generators.errors import Lack, NotExpressible
from generators.glsl.shader import Shader, prints
from generators.glsl.values import declared, value_text
from generators.program.array_conversion import BitCastArray, ConstructCoopMat, ExtractCoopMat, ExtractSubArray
from generators.program.values import AnyValue
from generators.types import ComponentType

_REFUSED_BYTES = 4


@prints(BitCastArray)
def emit_bitcast_array(shader: Shader, operation: BitCastArray) -> None:
    """Write a call of bitcastQCOM."""
    _call(shader, "bitcastQCOM", operation.result, value_text(shader, operation.source))


@prints(ConstructCoopMat)
def emit_construct_coopmat(shader: Shader, operation: ConstructCoopMat) -> None:
    """Write a call of vectorToCoopmatQCOM."""
    _call(shader, "vectorToCoopmatQCOM", operation.result, value_text(shader, operation.source))


@prints(ExtractCoopMat)
def emit_extract_coopmat(shader: Shader, operation: ExtractCoopMat) -> None:
    """Write a call of coopmatToVectorQCOM."""
    _call(shader, "coopmatToVectorQCOM", operation.result, shader.text(operation.matrix))


@prints(ExtractSubArray)
def emit_extract_sub_array(shader: Shader, operation: ExtractSubArray) -> None:
    """Write a call of extractSubArrayQCOM.

    Raises:
        NotExpressible: the result has 4 bytes, which glslang 16.6 rejects ("the byte size of the target array must be 32").
    """
    type_ = operation.result.type
    assert isinstance(type_.element, ComponentType), "arrays of invocations have scalars"
    if isinstance(type_.length, int) and type_.length * type_.element.bytes == _REFUSED_BYTES:
        raise NotExpressible(Lack.ARRAY_PART, f"glslang's extractSubArrayQCOM gives no array of {_REFUSED_BYTES} bytes")
    _call(shader, "extractSubArrayQCOM", operation.result, value_text(shader, operation.source), shader.text(operation.start))


def _call(shader: Shader, function: str, result: AnyValue, *arguments: str) -> None:
    """Declare the result unless it is declared already, and write a call that assigns it."""
    shader.require(
        "GL_KHR_cooperative_matrix",
        "GL_KHR_memory_scope_semantics",
        "GL_EXT_shader_explicit_arithmetic_types",
        "GL_QCOM_cooperative_matrix_conversion",
    )
    shader.line(f"{function}({', '.join((*arguments, declared(shader, result)))});")
