"""coopMatReduce and coopMatPerElement, with the suffix NV (GL_NV_cooperative_matrix2) or EXT (GL_EXT_cooperative_matrix_maintenance1)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.errors import Lack, NotExpressible
from generators.glsl.functions import callback
from generators.glsl.shader import Shader, prints
from generators.glsl.values import declared, type_name
from generators.program.callbacks import ExtraOperand, PerElement, Reduce, StructOperand, VectorOperand
from generators.program.values import is_aggregate, is_scalar
from generators.types import ReduceMode

_MODES: Mapping[ReduceMode, str] = MappingProxyType(
    {
        ReduceMode.ROW: "gl_CooperativeMatrixReduceRow",
        ReduceMode.COLUMN: "gl_CooperativeMatrixReduceColumn",
        ReduceMode.ROW_AND_COLUMN: "gl_CooperativeMatrixReduceRowAndColumn",
        ReduceMode.TWO_BY_TWO: "gl_CooperativeMatrixReduce2x2",
    }
)


@prints(Reduce)
def emit_reduce(shader: Shader, operation: Reduce) -> None:
    """Write a call."""
    suffix, result, matrix = shader.require_shared(), declared(shader, operation.result), shader.text(operation.matrix)
    shader.line(f"coopMatReduce{suffix}({result}, {matrix}, {_MODES[operation.mode]}{suffix}, {callback(shader, operation.function)});")


@prints(PerElement)
def emit_per_element(shader: Shader, operation: PerElement) -> None:
    """Write a call.

    Raises:
        NotExpressible: the row or the column is signed (F-CM2-11).
    """
    if any(is_scalar(p) and p.type.is_signed for p in operation.function.parameters[:2]):
        raise NotExpressible(Lack.COORDINATE_TYPE, "the row and column of coopMatPerElementNV are uint32_t")
    suffix, result = shader.require_shared(), declared(shader, operation.result)
    function = callback(shader, operation.function)
    extra = [_extra(shader, operation, i, operand) for i, operand in enumerate(operation.extra, 3)]
    shader.line(f"coopMatPerElement{suffix}({', '.join((result, shader.text(operation.matrix), function, *extra))});")


def _extra(shader: Shader, operation: PerElement, place: int, operand: ExtraOperand) -> str:
    if isinstance(operand, VectorOperand | StructOperand):
        parameter = operation.function.parameters[place]
        assert is_aggregate(parameter), "a vector or struct is the operand of a parameter of its type"
        return f"{type_name(shader, parameter.type)}({', '.join(shader.text(part) for part in operand.parts)})"
    return shader.text(operand)
