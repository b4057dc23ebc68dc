"""coopMatPerElementNV (GL_NV_cooperative_matrix2)."""

from __future__ import annotations

from generators.errors import NotExpressible
from generators.glsl.callbacks import callback, struct_name
from generators.glsl.shader import Shader
from generators.program.callbacks import ScalarParameter, StructParameter
from generators.program.memory import Pointee
from generators.program.per_element import ExtraOperand, PerElement, StructOperand, VectorOperand
from generators.program.values import Matrix


def emit_per_element(shader: Shader, operation: PerElement) -> None:
    """Writes a call.

    Raises:
        NotExpressible: the row or the column is signed (F-CM2-11).
    """
    if any(isinstance(p, ScalarParameter) and p.component.is_signed for p in operation.function.parameters[:2]):
        raise NotExpressible("the row and column of coopMatPerElementNV are uint32_t")
    shader.require("GL_NV_cooperative_matrix2")
    if operation.result.name not in shader.variables:
        shader.line(f"{shader.assignee(operation.result)};")
    function = callback(shader, operation.function)
    extra = [_extra(shader, operation, i, operand) for i, operand in enumerate(operation.extra, 3)]
    arguments = (shader.matrix(operation.result), shader.matrix(operation.matrix), function, *extra)
    shader.line(f"coopMatPerElementNV({', '.join(arguments)});")


def _extra(shader: Shader, operation: PerElement, place: int, operand: ExtraOperand) -> str:
    if isinstance(operand, Matrix):
        return shader.matrix(operand)
    if isinstance(operand, VectorOperand):
        type_ = shader.pointee_type(Pointee(operand.lanes[0].component, len(operand.lanes)))
        return f"{type_}({', '.join(shader.scalar(lane) for lane in operand.lanes)})"
    if isinstance(operand, StructOperand):
        parameter = operation.function.parameters[place]
        assert isinstance(parameter, StructParameter), "a struct operand is for a struct parameter"
        return f"{struct_name(shader, parameter)}({', '.join(shader.scalar(member) for member in operand.members)})"
    return shader.scalar(operand)
