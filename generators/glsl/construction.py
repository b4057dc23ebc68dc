"""Constructed matrices: the constructor of coopmat (GL_KHR_cooperative_matrix, 5.4.X), constants, and initializers."""

from __future__ import annotations

from generators.errors import Lack, NotExpressible
from generators.glsl.shader import Shader, prints
from generators.glsl.spelling import identifier
from generators.program.construction import MatrixConstant, MatrixNull, MatrixSplat, MatrixUndefined


@prints(MatrixSplat)
def emit_splat(shader: Shader, splat: MatrixSplat) -> None:
    """Write a constructor call.

    Raises:
        NotExpressible: the composite must be replicated.
    """
    _refuse_replication(splat.replicated)
    shader.line(f"{shader.assignee(splat.result)} = {shader.matrix_type(splat.result.type)}({shader.text(splat.value)});")


@prints(MatrixConstant)
def emit_constant(shader: Shader, constant: MatrixConstant) -> None:
    """Write a constant. glslang makes an OpConstantComposite of one whose value is a literal, and an OpCompositeConstruct of one whose
    value is a specialization constant, which GLSL does not accept as a constant expression here.

    Raises:
        NotExpressible: the composite must be replicated, or a literal must be specializable.
    """
    qualifier = "const " if constant.value.source == "literal" else ""
    text = constant_text(shader, constant)
    shader.line(f"{qualifier}{shader.matrix_type(constant.result.type)} {identifier(constant.result.name)} = {text};")


def constant_text(shader: Shader, constant: MatrixConstant) -> str:
    """Return the constant as an expression.

    Raises:
        NotExpressible: as ``emit_constant``.
    """
    _refuse_replication(constant.replicated)
    if constant.specializable and constant.value.source == "literal":
        raise NotExpressible(Lack.REPLICATED_CONSTANT, "GLSL specializes constants with a constant_id, not literals")
    return f"{shader.matrix_type(constant.result.type)}({shader.text(constant.value)})"


@prints(MatrixNull)
def emit_null(shader: Shader, null: MatrixNull) -> None:
    """Write a variable with a null initializer: an OpVariable initialized with an OpConstantNull."""
    shader.require("GL_EXT_null_initializer")
    shader.line(f"{shader.matrix_type(null.result.type)} {identifier(null.result.name)} = {{}};")


@prints(MatrixUndefined)
def emit_undefined(shader: Shader, undefined: MatrixUndefined) -> None:
    """Write a variable without a value."""
    shader.line(f"{shader.matrix_type(undefined.result.type)} {identifier(undefined.result.name)};")


def _refuse_replication(replicated: bool) -> None:
    if replicated:
        raise NotExpressible(Lack.REPLICATED_COMPOSITE, "glslang makes no replicated composite of a coopmat")
