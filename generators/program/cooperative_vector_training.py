"""OpCooperativeVectorOuterProductAccumulateNV and OpCooperativeVectorReduceSumAccumulateNV (SPV_NV_cooperative_vector, 3.42.X)."""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.cooperative_vector_matmul import InterpretationOperand, VectorMatrixLayoutOperand
from generators.program.memory import Array
from generators.program.operation import VectorOperation
from generators.program.values import CooperativeVector, ScalarValue


@dataclass(frozen=True)
class OuterProductAccumulate(VectorOperation):
    """Each element (m, n) of the matrix in memory grows by ``a``[m] * ``b``[n], by an atomic add at Device scope (CV-OPA-01, CV-OPA-04).

    Attributes:
        array: the array that contains the matrix, in a storage buffer or physical storage, with any pointee.
        offset: start of the matrix in bytes, a multiple of 64; in an array with ``opaque`` matrices, a multiple of their pitch.
        a, b: M and N components of one type, f16.
        layout: TRAINING_OPTIMAL, for Vulkan (CV-OPA-07).
        interpretation: the type of the matrix and of the accumulation: f16 or f32 (CV-OPA-03).
        stride: as for a MatrixInMemory.
    """

    array: Array
    offset: ScalarValue
    a: CooperativeVector
    b: CooperativeVector
    layout: VectorMatrixLayoutOperand
    interpretation: InterpretationOperand
    stride: ScalarValue | None = None


@dataclass(frozen=True)
class ReduceSumAccumulate(VectorOperation):
    """Each element i of the array of ``vector``'s component type (f16 or f32) that begins at byte ``offset`` (a multiple of 16) of
    ``array`` grows by ``vector``[i], by an atomic add at Device scope (CV-RSA-01 to CV-RSA-03). ``inner``: as for
    a CooperativeVectorLoad."""

    array: Array
    offset: ScalarValue
    vector: CooperativeVector
    inner: ScalarValue | None = None
