"""coopMatReduceNV (GL_NV_cooperative_matrix2)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.glsl.functions import callback
from generators.glsl.shader import Shader
from generators.program.reduce import Reduce
from generators.types import ReduceMode

_MODES: Mapping[ReduceMode, str] = MappingProxyType(
    {
        ReduceMode.ROW: "gl_CooperativeMatrixReduceRowNV",
        ReduceMode.COLUMN: "gl_CooperativeMatrixReduceColumnNV",
        ReduceMode.ROW_AND_COLUMN: "gl_CooperativeMatrixReduceRowAndColumnNV",
        ReduceMode.TWO_BY_TWO: "gl_CooperativeMatrixReduce2x2NV",
    }
)


def emit_reduce(shader: Shader, operation: Reduce) -> None:
    """Write a call."""
    shader.require("GL_NV_cooperative_matrix2")
    if operation.result.name not in shader.variables:
        shader.line(f"{shader.assignee(operation.result)};")
    result, matrix = shader.text(operation.result), shader.text(operation.matrix)
    shader.line(f"coopMatReduceNV({result}, {matrix}, {_MODES[operation.mode]}, {callback(shader, operation.function)});")
