"""coopMatMulAdd (GL_KHR_cooperative_matrix, 8.X)."""

from __future__ import annotations

from generators.errors import Lack, NotExpressible
from generators.glsl.shader import Shader, prints
from generators.glsl.values import assign
from generators.program.muladd import MatrixMulAdd
from generators.types import MatrixOperands

_SIGNED = (MatrixOperands.A_SIGNED, MatrixOperands.B_SIGNED, MatrixOperands.C_SIGNED, MatrixOperands.RESULT_SIGNED)


def derived_operands(operation: MatrixMulAdd) -> MatrixOperands:
    """Return the signed flags as GLSL derives them from the component types."""
    matrices = (operation.a, operation.b, operation.c, operation.result)
    mask = MatrixOperands.NONE
    for flag, matrix in zip(_SIGNED, matrices, strict=True):
        if matrix.type.component.is_signed:
            mask |= flag
    return mask


@prints(MatrixMulAdd)
def emit_muladd(shader: Shader, operation: MatrixMulAdd) -> None:
    """Write a multiply-add.

    Raises:
        NotExpressible: Result's type is not C's, sizes come from different constants, or the signed flags do not fit the types.
    """
    if operation.c.type != operation.result.type:
        raise NotExpressible(Lack.RESULT_TYPE, "the result of coopMatMulAdd has the type of C in GLSL")
    a, b, c = operation.a.type, operation.b.type, operation.c.type
    if (a.rows, b.columns, a.columns) != (c.rows, c.columns, b.rows):
        # glslang 16.6: "cannot multiply coop matrices with incompatible sizes", although they are equal once specialized.
        raise NotExpressible(
            Lack.SIZES,
            "glslang asks for sizes that are the same literals or the same specialization constants; equal values are not enough",
        )
    operands = MatrixOperands.NONE if operation.operands is None else operation.operands
    saturating = operands & MatrixOperands.SATURATING_ACCUMULATION
    derived = derived_operands(operation)
    if operands & ~saturating != derived:
        raise NotExpressible(
            Lack.SIGNED_FLAGS,
            f"GLSL takes the signed flags from the component types (0x{int(derived):x}), not 0x{int(operands & ~saturating):x}",
        )
    arguments = [shader.text(operation.a), shader.text(operation.b), shader.text(operation.c)]
    if saturating:
        arguments.append("gl_MatrixOperandsSaturatingAccumulation")
    assign(shader, operation.result, f"coopMatMulAdd({', '.join(arguments)})")
