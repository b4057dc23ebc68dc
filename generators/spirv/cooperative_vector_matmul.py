"""OpCooperativeVectorMatrixMulNV and OpCooperativeVectorMatrixMulAddNV."""

from __future__ import annotations

from generators.errors import GeneratorError, Rule
from generators.program.cooperative_vector_matmul import (
    CooperativeVectorMatMul,
    InterpretationOperand,
    VectorMatrixLayoutOperand,
    transposes,
    vector_layout_value,
)
from generators.program.values import ScalarValue
from generators.spirv.cooperative_vectors import offset_id
from generators.spirv.enumerants import Op
from generators.spirv.shader import Shader, emits
from generators.spirv.values import compute
from generators.types import Interpretation, VectorMatrixLayout


@emits(CooperativeVectorMatMul)
def emit_vector_matmul(shader: Shader, operation: CooperativeVectorMatMul) -> None:
    """Emit a matrix-vector multiply, or multiply-add.

    Raises:
        GeneratorError: it has operands that no valid module has.
    """
    _check(operation)
    matrix, bias = operation.matrix, operation.bias
    words = [
        shader.define(operation.input),
        interpretation_id(shader, operation.interpretation),
        shader.elements(matrix.array, matrix.inner),
        offset_id(shader, matrix.offset),
        interpretation_id(shader, matrix.interpretation),
    ]
    if bias is not None:
        words += [shader.elements(bias.array, bias.inner), offset_id(shader, bias.offset), interpretation_id(shader, bias.interpretation)]
    words += [shader.extent(operation.rows), shader.extent(operation.columns), layout_id(shader, matrix.layout)]
    words += [shader.boolean(matrix.transpose), *stride_ids(shader, matrix.layout, matrix.stride)]
    if operation.operands is not None:
        if matrix.stride is None:
            raise GeneratorError(Rule.MASK_WITHOUT_STRIDE, "the mask comes after the stride: give a stride, which optimal layouts ignore")
        words.append(int(operation.operands))
    op = Op.CooperativeVectorMatrixMulNV if bias is None else Op.CooperativeVectorMatrixMulAddNV
    compute(shader, op, operation.result, *words)


def interpretation_id(shader: Shader, interpretation: InterpretationOperand) -> int:
    """Return the id of a Component Type operand."""
    return shader.u32(interpretation.vk) if isinstance(interpretation, Interpretation) else shader.id(interpretation)


def layout_id(shader: Shader, layout: VectorMatrixLayoutOperand) -> int:
    """Return the id of a MemoryLayout operand."""
    return shader.u32(layout) if isinstance(layout, VectorMatrixLayout) else shader.id(layout)


def stride_ids(shader: Shader, layout: VectorMatrixLayoutOperand, stride: ScalarValue | None) -> tuple[int, ...]:
    """Return the id of a MatrixStride operand, if there is one.

    Raises:
        GeneratorError: a layout that needs a stride has none (F-CV-1), or it is not a 32-bit integer.
    """
    if stride is not None:
        return (offset_id(shader, stride),)
    if not vector_layout_value(layout).is_optimal:
        raise GeneratorError("CV-MM-31", "row-major and column-major matrices have a stride (CV-MM-31)")
    return ()


def _check(operation: CooperativeVectorMatMul) -> None:
    component = operation.result.type.component
    if component.name not in ("f16", "f32", "s32", "u32"):
        raise GeneratorError("CV-MM-03", f"the result of a matrix-vector multiply has f16, f32, s32 or u32, not {component} (CV-MM-03)")
    if operation.result.type.length != operation.rows:
        raise GeneratorError("CV-MM-04", "the result of a matrix-vector multiply has M components (CV-MM-04)")
    if transposes(operation.matrix.transpose) and not vector_layout_value(operation.matrix.layout).is_optimal:
        raise GeneratorError("CV-MM-21", "only matrices in an optimal layout are transposed (CV-MM-21)")
    arrays = [operation.matrix.array] + ([operation.bias.array] if operation.bias is not None else [])
    if any(array.pointee.lanes > 1 for array in arrays):
        raise GeneratorError("CV-MM-16", "matrix and bias are in arrays of scalars (CV-MM-16)")
