"""coopMatTransposeEXT (GL_EXT_cooperative_matrix_maintenance1)."""

from __future__ import annotations

from generators.errors import Lack, NotExpressible
from generators.glsl.conversion import follows_types
from generators.glsl.shader import MAINTENANCE1, Shader, prints
from generators.program.transposed_conversion import TransposedConvert


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
    if operation.result.name not in shader.variables:
        shader.line(f"{shader.assignee(operation.result)};")
    shader.line(f"coopMatTransposeEXT({shader.text(operation.result)}, {shader.text(operation.matrix)});")
