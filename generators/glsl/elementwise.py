"""Arithmetic operators on matrices (GL_KHR_cooperative_matrix, 5.9)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.errors import Lack, NotExpressible
from generators.glsl.shader import Shader, prints
from generators.program.elementwise import MatrixArithmetic, MatrixNegate, MatrixTimesScalar
from generators.program.values import Matrix

_OPERATORS: Mapping[str, str] = MappingProxyType(
    {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "signed_divide": "/", "unsigned_divide": "/"}
)


def _assign(shader: Shader, result: Matrix, expression: str, no_contraction: bool = False) -> None:
    if no_contraction and result.name in shader.variables:
        raise NotExpressible(
            Lack.NO_CONTRACTION,
            f"'{result.name}' is stored in the variable of another value, whose declaration cannot be precise for this value alone",
        )
    shader.line(f"{'precise ' if no_contraction else ''}{shader.assignee(result)} = {expression};")


@prints(MatrixNegate)
def emit_negate(shader: Shader, operation: MatrixNegate) -> None:
    """Write a unary minus."""
    _assign(shader, operation.result, f"-{shader.text(operation.operand)}")


@prints(MatrixArithmetic)
def emit_elementwise(shader: Shader, operation: MatrixArithmetic) -> None:
    """Write a binary operator.

    Raises:
        NotExpressible: a division has a different signedness than its type, and in GLSL the type alone decides.
    """
    component = operation.result.type.component
    if operation.operator in ("signed_divide", "unsigned_divide") and component.is_signed != (operation.operator == "signed_divide"):
        raise NotExpressible(Lack.SIGNEDNESS, f"GLSL always divides {component} according to the type's signedness")
    expression = f"{shader.text(operation.left)} {_OPERATORS[operation.operator]} {shader.text(operation.right)}"
    _assign(shader, operation.result, expression, operation.no_contraction)


@prints(MatrixTimesScalar)
def emit_times_scalar(shader: Shader, operation: MatrixTimesScalar) -> None:
    """Write a product of a matrix and a scalar."""
    expression = f"{shader.text(operation.matrix)} * {shader.text(operation.scalar)}"
    _assign(shader, operation.result, expression, operation.no_contraction)
