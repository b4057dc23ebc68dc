"""OpCooperativeVectorMatrixMulNV and OpCooperativeVectorMatrixMulAddNV (SPV_NV_cooperative_vector, 3.42.X)."""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.memory import Array
from generators.program.operation import Part, VectorOperation
from generators.program.values import CooperativeVector, Extent, Operand, ScalarValue
from generators.types import INTERPRETATIONS, Interpretation, MatrixOperands, VectorMatrixLayout

InterpretationOperand = Interpretation | Operand
"""A literal Component Type, or a specialization constant (u32) whose value is one (CV-MM-23)."""

VectorMatrixLayoutOperand = VectorMatrixLayout | Operand
"""A literal layout, or a specialization constant (u32) whose value is one."""


@dataclass(frozen=True)
class MatrixInMemory(Part):
    """A matrix that an instruction reads.

    Attributes:
        array: the array that contains it; the type of the array's pointee, a scalar, does not matter (CV-MM-14).
        offset: its start in bytes, a multiple of 64; in an array with ``opaque`` matrices, a multiple of their pitch.
        interpretation: the type of its elements.
        layout: their order.
        stride: the bytes from a row (column) to the next, a multiple of 16. Optimal layouts ignore it (CV-MM-19). None leaves the optional
            operand out, which only an optimal layout allows (F-CV-1).
        transpose: whether the matrix is K x M in memory; a specialization constant is a u32 that is nonzero for true. It may be set only
            with an optimal layout (CV-MM-20, CV-MM-21).
        inner: as for a CooperativeVectorLoad.
    """

    array: Array
    offset: ScalarValue
    interpretation: InterpretationOperand
    layout: VectorMatrixLayoutOperand
    stride: ScalarValue | None
    transpose: bool | Operand = False
    inner: ScalarValue | None = None


@dataclass(frozen=True)
class BiasInMemory(Part):
    """A bias that an instruction reads: M elements starting at byte ``offset`` (a multiple of 16) of ``array``, whose pointee, a scalar,
    does not matter (CV-MM-15). ``inner``: as for a CooperativeVectorLoad."""

    array: Array
    offset: ScalarValue
    interpretation: InterpretationOperand
    inner: ScalarValue | None = None


@dataclass(frozen=True)
class CooperativeVectorMatMul(VectorOperation):
    """``result`` = matrix x ``input`` + bias, with ``input`` as a column vector (CV-MM-01, CV-MM-02).

    Attributes:
        result: ``rows`` components of f16, f32, s32 or u32.
        input: ``columns`` components; with a packed interpretation, as many u32 as hold them.
        interpretation: the type to which the input is converted or bitcast.
        matrix: ``rows`` x ``columns``.
        bias: None for OpCooperativeVectorMatrixMulNV.
        rows, columns: M and K.
        operands: B_SIGNED says that an integer input is signed, RESULT_SIGNED that an integer result is (F-CV-4); None leaves the optional
            mask out. By default, ``ProgramBuilder.matmul`` derives them from the types.
    """

    result: CooperativeVector
    input: CooperativeVector
    interpretation: InterpretationOperand
    matrix: MatrixInMemory
    bias: BiasInMemory | None
    rows: Extent
    columns: Extent
    operands: MatrixOperands | None = None


def derived_operands(result: CooperativeVector, input_: CooperativeVector) -> MatrixOperands:
    """Return the flags that the component types of result and input ask for, as GLSL derives them."""
    mask = MatrixOperands.NONE
    if input_.type.component.is_signed:
        mask |= MatrixOperands.B_SIGNED
    if result.type.component.is_signed:
        mask |= MatrixOperands.RESULT_SIGNED
    return mask


def interpretation_value(interpretation: InterpretationOperand) -> Interpretation:
    """Return the interpretation in this case."""
    if isinstance(interpretation, Interpretation):
        return interpretation
    return next(one for one in INTERPRETATIONS.values() if one.vk == interpretation.value)


def vector_layout_value(layout: VectorMatrixLayoutOperand) -> VectorMatrixLayout:
    """Return the layout in this case."""
    if isinstance(layout, VectorMatrixLayout):
        return layout
    assert layout.value is not None, f"{layout.name}: a layout has a value in each case"
    return VectorMatrixLayout(layout.value)


def transposes(transpose: bool | Operand) -> bool:
    """Tell whether a matrix is transposed in this case."""
    return bool(transpose.value) if isinstance(transpose, Operand) else transpose
