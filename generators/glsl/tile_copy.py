"""Tiles that all invocations of a workgroup copy together."""

from __future__ import annotations

from generators.glsl.shader import Shader
from generators.glsl.spelling import literal
from generators.program.tile_copy import TileCopy, Window


def emit_tile_copy(shader: Shader, copy: TileCopy) -> None:
    """Writes a loop over the elements of the tile, each invocation beginning at its own."""
    shape = shader.program.shape
    size = "gl_WorkGroupSize.x" + " * gl_WorkGroupSize.y" * (shape.y > 1) + " * gl_WorkGroupSize.z" * (shape.z > 1)
    count = copy.rows * copy.columns
    with shader.braces(f"for (uint element = gl_LocalInvocationIndex; element < {count}u; element += {size})"):
        shader.line(f"uint row = element / {copy.columns}u;")
        shader.line(f"uint column = element % {copy.columns}u;")
        place, inside = _place(shader, copy.target, *(("column", "row") if copy.transposed else ("row", "column")))
        source, there = _place(shader, copy.source, "row", "column")
        value = f"{shader.elements(copy.source.array)}[{source}]"
        target = f"{shader.elements(copy.target.array)}[{place}]"
        zero = literal(copy.target.array.pointee.component, 0)
        lines = [f"{target} = {value};"] if there is None else [f"if ({there}) {target} = {value};", f"else {target} = {zero};"]
        if inside is None:
            for line in lines:
                shader.line(line)
        else:
            with shader.braces(f"if ({inside})"):
                for line in lines:
                    shader.line(line)


def _place(shader: Shader, window: Window, row: str, column: str) -> tuple[str, str | None]:
    """The element of the array, and what says whether it is inside of the limits."""
    y, x = f"({shader.text(window.row)} + {row})", f"({shader.text(window.column)} + {column})"
    place = f"{y} * {shader.text(window.stride)} + {x}"
    if window.limits is None:
        return place, None
    rows, columns = (shader.text(limit) for limit in window.limits)
    return place, f"{y} < {rows} && {x} < {columns}"
