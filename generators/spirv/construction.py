"""Matrices made of a scalar."""

from __future__ import annotations

from generators.program.construction import MatrixSplat
from generators.spirv.enumerants import Op
from generators.spirv.shader import Shader


def emit_splat(shader: Shader, splat: MatrixSplat) -> None:
    """Emits an OpCompositeConstruct of one constituent."""
    type_ = shader.matrix_type(splat.result.type)
    shader.module.value(Op.CompositeConstruct, type_, shader.scalar(splat.value), result=shader.define(splat.result))
