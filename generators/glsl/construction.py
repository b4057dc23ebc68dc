"""Constructed matrices and cooperative vectors: constructors (GL_KHR_cooperative_matrix, GL_NV_cooperative_vector, 5.4.X), constants, and
initializers."""

from __future__ import annotations

from generators.errors import Lack, NotExpressible
from generators.glsl.shader import Shader, prints
from generators.glsl.values import assign, assignee, type_name
from generators.program import construction as language


@prints(language.MatrixSplat, language.CooperativeVectorSplat)
def emit_splat(shader: Shader, splat: language.MatrixSplat | language.CooperativeVectorSplat) -> None:
    """Write a constructor call with one scalar.

    Raises:
        NotExpressible: the composite of a matrix must be replicated, or the composite of a vector must not.
    """
    if isinstance(splat, language.MatrixSplat):
        _refuse_replication(splat.replicated)
    elif not splat.replicated:
        raise NotExpressible(Lack.REPLICATED_COMPOSITE, "glslang makes a replicated composite if one scalar fills a cooperative vector")
    assign(shader, splat.result, f"{type_name(shader, splat.result.type)}({shader.text(splat.value)})")


@prints(language.MatrixConstant, language.CooperativeVectorConstant)
def emit_constant(shader: Shader, constant: language.MatrixConstant | language.CooperativeVectorConstant) -> None:
    """Write a constant. If the value of a matrix is a literal, glslang makes an OpConstantComposite; if it is a specialization constant,
    which GLSL does not accept as a constant expression here, an OpCompositeConstruct.

    Raises:
        NotExpressible: as ``constant_text``.
    """
    qualifier = "const " if all(value.source == "literal" for value in constant.values) else ""
    shader.line(f"{qualifier}{assignee(shader, constant.result)} = {constant_text(shader, constant)};")


def constant_text(shader: Shader, constant: language.MatrixConstant | language.CooperativeVectorConstant) -> str:
    """Return the constant as an expression.

    Raises:
        NotExpressible: the composite of a matrix must be replicated, or its literal must be specializable.
    """
    if isinstance(constant, language.MatrixConstant):
        _refuse_replication(constant.replicated)
        if constant.specializable and constant.value.source == "literal":
            raise NotExpressible(Lack.REPLICATED_CONSTANT, "GLSL specializes constants with a constant_id, not literals")
    return f"{type_name(shader, constant.result.type)}({', '.join(shader.text(value) for value in constant.values)})"


@prints(language.MatrixNull, language.CooperativeVectorNull)
def emit_null(shader: Shader, null: language.MatrixNull | language.CooperativeVectorNull) -> None:
    """Write a variable with a null initializer: an OpVariable initialized with an OpConstantNull."""
    shader.require("GL_EXT_null_initializer")
    assign(shader, null.result, "{}")


@prints(language.MatrixUndefined, language.CooperativeVectorUndefined)
def emit_undefined(shader: Shader, undefined: language.MatrixUndefined | language.CooperativeVectorUndefined) -> None:
    """Write a variable without a value."""
    shader.line(f"{assignee(shader, undefined.result)};")


def _refuse_replication(replicated: bool) -> None:
    if replicated:
        raise NotExpressible(Lack.REPLICATED_COMPOSITE, "glslang makes no replicated composite of a coopmat")
