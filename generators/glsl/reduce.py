"""coopMatReduceNV (GL_NV_cooperative_matrix2) or coopMatReduceEXT (GL_EXT_cooperative_matrix_maintenance1)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.glsl.functions import callback
from generators.glsl.shader import Shader, prints
from generators.program.reduce import Reduce
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
    suffix = shader.require_shared()
    if operation.result.name not in shader.variables:
        shader.line(f"{shader.assignee(operation.result)};")
    result, matrix = shader.text(operation.result), shader.text(operation.matrix)
    shader.line(f"coopMatReduce{suffix}({result}, {matrix}, {_MODES[operation.mode]}{suffix}, {callback(shader, operation.function)});")
