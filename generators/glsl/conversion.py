"""Conversions of matrices: constructors (GL_KHR_cooperative_matrix, 5.4.X), saturatedConvertEXT (GL_EXT_float_e4m3, e5m2),
coopMatTransposeNV (GL_NV_cooperative_matrix2) and coopMatTransposeEXT (GL_EXT_cooperative_matrix_maintenance1)."""

from __future__ import annotations

from generators.errors import Lack, NotExpressible
from generators.glsl.shader import MAINTENANCE1, MATRIX2, Shader, prints
from generators.glsl.values import assign, declared
from generators.program.conversion import Conversion, MatrixConvert, Transpose, TransposedConvert, UseConvert, changes_use, is_float8
from generators.types import ComponentType


@prints(MatrixConvert)
def emit_convert(shader: Shader, convert: MatrixConvert) -> None:
    """Write a constructor call, or a call of saturatedConvertEXT.

    Raises:
        NotExpressible: the constructor reads the components as their types say, and the instruction does not; or the source of a
            saturating conversion has 8-bit floats, or its result has another use.
    """
    source, target = convert.matrix.type.component, convert.result.type.component
    if not follows_types(convert.conversion, source, target):
        raise NotExpressible(
            Lack.CONVERSION, f"the constructor of coopmat converts {source} to {target} by their types, not as Op{convert.conversion.value}"
        )
    use_changes = changes_use(convert, shader.program.maintenance1)
    if use_changes:
        shader.require_shared()
    matrix = shader.text(convert.matrix)
    if not convert.saturating:
        assign(shader, convert.result, f"{shader.matrix_type(convert.result.type)}({matrix})")
        return
    if is_float8(source):
        raise NotExpressible(
            Lack.SATURATION_TYPE, f"saturatedConvertEXT does not take 8-bit floats, but '{convert.matrix.name}' has components of {source}"
        )
    if use_changes:
        # glslang 16.6 accepts it but declares no capability for it.
        raise NotExpressible(Lack.SATURATION_USE, "saturatedConvertEXT leaves the use of a matrix as it is")
    shader.line(f"saturatedConvertEXT({declared(shader, convert.result)}, {matrix});")


def follows_types(conversion: Conversion, source: ComponentType, target: ComponentType) -> bool:
    """Return whether the instruction has the same result as GLSL's conversion between these types."""
    match conversion:
        case Conversion.F_TO_U | Conversion.F_TO_S:
            return target.is_signed is (conversion is Conversion.F_TO_S)
        case Conversion.U_TO_F | Conversion.S_TO_F:
            return source.is_signed is (conversion is Conversion.S_TO_F)
        case Conversion.U_TO_U | Conversion.S_TO_S:
            # Truncation ignores the sign.
            return target.bits < source.bits or source.is_signed is (conversion is Conversion.S_TO_S)
        case _:
            return True


@prints(UseConvert)
def emit_use_convert(shader: Shader, operation: UseConvert) -> None:
    """Write a constructor."""
    shader.require_shared()
    assign(shader, operation.result, f"{shader.matrix_type(operation.result.type)}({shader.text(operation.matrix)})")


@prints(Transpose)
def emit_transpose(shader: Shader, operation: Transpose) -> None:
    """Write a call."""
    shader.require(MATRIX2)
    shader.transposes = True
    shader.line(f"coopMatTransposeNV({declared(shader, operation.result)}, {shader.text(operation.matrix)});")


def check_transpositions(shader: Shader) -> None:
    """Check that glslang writes OpCooperativeMatrixTransposeNV for each transposition.

    Raises:
        NotExpressible: the shader needs the extension with which glslang 16.6 writes a conversion with CooperativeMatrixTransposeEXT.
    """
    if shader.transposes and MAINTENANCE1 in shader.extensions:
        raise NotExpressible(Lack.TRANSPOSITION, f"coopMatTransposeNV is another instruction in a shader with {MAINTENANCE1}")


@prints(TransposedConvert)
def emit_transposed_convert(shader: Shader, operation: TransposedConvert) -> None:
    """Write a call.

    Raises:
        NotExpressible: the function converts the components as their types say, and the instruction does not; or the conversion saturates.
    """
    source, target, conversion = operation.matrix.type.component, operation.result.type.component, operation.conversion
    if conversion is not None and not follows_types(conversion, source, target):
        raise NotExpressible(
            Lack.CONVERSION, f"coopMatTransposeEXT converts {source} to {target} by their types, not as Op{conversion.value}"
        )
    if operation.saturating:
        raise NotExpressible(Lack.SATURATION_USE, "coopMatTransposeEXT does not saturate")
    shader.require(MAINTENANCE1)
    shader.line(f"coopMatTransposeEXT({declared(shader, operation.result)}, {shader.text(operation.matrix)});")
