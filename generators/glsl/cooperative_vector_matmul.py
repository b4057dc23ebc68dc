"""coopVecMatMulNV and coopVecMatMulAddNV (GL_NV_cooperative_vector, 8.X)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.errors import Lack, NotExpressible
from generators.glsl.cooperative_vectors import uint
from generators.glsl.shader import Shader, prints
from generators.glsl.values import declared
from generators.program.cooperative_vector_matmul import (
    CooperativeVectorMatMul,
    InterpretationOperand,
    VectorMatrixLayoutOperand,
    derived_operands,
)
from generators.program.values import Operand, ScalarValue
from generators.types import MatrixOperands, VectorMatrixLayout

_KINDS = {"f": "Float", "s": "SignedInt", "u": "UnsignedInt"}

_LAYOUTS: Mapping[VectorMatrixLayout, str] = MappingProxyType(
    {
        VectorMatrixLayout.ROW_MAJOR: "gl_CooperativeVectorMatrixLayoutRowMajorNV",
        VectorMatrixLayout.COLUMN_MAJOR: "gl_CooperativeVectorMatrixLayoutColumnMajorNV",
        VectorMatrixLayout.INFERENCING_OPTIMAL: "gl_CooperativeVectorMatrixLayoutInferencingOptimalNV",
        VectorMatrixLayout.TRAINING_OPTIMAL: "gl_CooperativeVectorMatrixLayoutTrainingOptimalNV",
    }
)


@prints(CooperativeVectorMatMul)
def emit_vector_matmul(shader: Shader, operation: CooperativeVectorMatMul) -> None:
    """Write a matrix-vector multiply, or multiply-add.

    Raises:
        NotExpressible: the stride is left out, or the signed flags do not follow the types.
    """
    derived = derived_operands(operation.result, operation.input)
    if (operation.operands or MatrixOperands.NONE) != derived:
        raise NotExpressible(Lack.SIGNED_FLAGS, f"GLSL takes the signed flags from the component types (0x{int(derived):x})")
    matrix, bias = operation.matrix, operation.bias
    arguments = [
        declared(shader, operation.result),
        shader.text(operation.input),
        interpretation(shader, operation.interpretation),
        shader.elements(matrix.array, matrix.inner),
        uint(shader, matrix.offset, "offset"),
        interpretation(shader, matrix.interpretation),
    ]
    if bias is not None:
        arguments += [
            shader.elements(bias.array, bias.inner),
            uint(shader, bias.offset, "offset"),
            interpretation(shader, bias.interpretation),
        ]
    arguments += [shader.extent(operation.rows, "u"), shader.extent(operation.columns, "u"), layout(shader, matrix.layout)]
    arguments += [_boolean(shader, matrix.transpose), stride(shader, matrix.stride)]
    shader.line(f"coopVecMatMul{'' if bias is None else 'Add'}NV({', '.join(arguments)});")


def interpretation(shader: Shader, value: InterpretationOperand) -> str:
    """Return the constant expression for a component type."""
    if isinstance(value, Operand):
        return _constant(shader, value)
    component = value.component
    name = f"FloatE{component.name[1]}M{component.name[3]}" if component.bits == 8 and component.is_float else ""
    name = name or f"{_KINDS[component.name[0]]}{component.bits}{'Packed' if value.packed else ''}"
    return f"gl_ComponentType{name}NV"


def layout(shader: Shader, value: VectorMatrixLayoutOperand) -> str:
    """Return the constant expression for a layout."""
    return _constant(shader, value) if isinstance(value, Operand) else _LAYOUTS[value]


def stride(shader: Shader, value: ScalarValue | None) -> str:
    """Return the argument for a stride.

    Raises:
        NotExpressible: it is left out.
    """
    if value is None:
        raise NotExpressible(Lack.STRIDE, "GLSL cannot leave out the stride")
    return uint(shader, value, "stride")


def _boolean(shader: Shader, value: bool | Operand) -> str:
    return f"({_constant(shader, value)} != 0)" if isinstance(value, Operand) else str(value).lower()


def _constant(shader: Shader, operand: Operand) -> str:
    if operand.source not in ("literal", "specialization"):
        raise NotExpressible(Lack.CONSTANT, f"'{operand.name}' must be a constant, but comes from a {operand.source}")
    return shader.text(operand) if operand.type.name == "s32" else f"int({shader.text(operand)})"
