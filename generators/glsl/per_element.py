"""coopMatPerElementNV (GL_NV_cooperative_matrix2) or coopMatPerElementEXT (GL_EXT_cooperative_matrix_maintenance1)."""

from __future__ import annotations

from generators.errors import Lack, NotExpressible
from generators.glsl.functions import callback
from generators.glsl.shader import Shader, prints
from generators.glsl.variables import type_name
from generators.program.per_element import ExtraOperand, PerElement, StructOperand, VectorOperand
from generators.program.values import is_aggregate, is_scalar


@prints(PerElement)
def emit_per_element(shader: Shader, operation: PerElement) -> None:
    """Write a call.

    Raises:
        NotExpressible: the row or the column is signed (F-CM2-11).
    """
    if any(is_scalar(p) and p.type.is_signed for p in operation.function.parameters[:2]):
        raise NotExpressible(Lack.COORDINATE_TYPE, "the row and column of coopMatPerElementNV are uint32_t")
    suffix = shader.require_shared()
    if operation.result.name not in shader.variables:
        shader.line(f"{shader.assignee(operation.result)};")
    function = callback(shader, operation.function)
    extra = [_extra(shader, operation, i, operand) for i, operand in enumerate(operation.extra, 3)]
    arguments = (shader.text(operation.result), shader.text(operation.matrix), function, *extra)
    shader.line(f"coopMatPerElement{suffix}({', '.join(arguments)});")


def _extra(shader: Shader, operation: PerElement, place: int, operand: ExtraOperand) -> str:
    if isinstance(operand, VectorOperand | StructOperand):
        parameter = operation.function.parameters[place]
        assert is_aggregate(parameter), "a vector or struct is the operand of a parameter of its type"
        return f"{type_name(shader, parameter.type)}({', '.join(shader.text(part) for part in operand.parts)})"
    return shader.text(operand)
