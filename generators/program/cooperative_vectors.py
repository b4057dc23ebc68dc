"""Cooperative vectors: loads, stores, and components at a run-time index (SPV_NV_cooperative_vector, 2.2.2 and 3.42.8).

A cooperative vector belongs to one invocation, so these operations are code of a ``PerInvocation``, in any control flow.
``CompositeConstruct``, ``CompositeExtract`` and ``CompositeInsert`` take components at constant indices; paths of ``VariableLoad`` and
``VariableStore`` take components of a variable.
"""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.load_store import MemoryOperand
from generators.program.memory import Array
from generators.program.operation import Effect, VectorOperation
from generators.program.values import CooperativeVector, Scalar, ScalarValue

VECTOR_ALIGNMENT = 16
"""Alignment in bytes of a vector or a bias in every valid program (RuntimeSpirv-OpCooperativeVectorLoadNV-10099,
-OpCooperativeVectorMatrixMulAddNV-10098, -OpCooperativeVectorReduceSumAccumulateNV-10100)."""


@dataclass(frozen=True)
class CooperativeVectorLoad(VectorOperation):
    """``result`` is read from byte ``offset`` (u32 or s32, a multiple of 16) of ``array``, whose pointee does not matter (CV-LD-01,
    CV-LD-02). The default scope of ``memory`` is the workgroup.

    If ``array`` has inner arrays, the pointer leads to the inner array ``inner`` (u32), and ``offset`` counts from its start.
    """

    result: CooperativeVector
    array: Array
    offset: ScalarValue
    memory: MemoryOperand | None = None
    inner: ScalarValue | None = None


@dataclass(frozen=True)
class CooperativeVectorStore(VectorOperation):
    """``vector`` is written to ``array``; addressing and ``memory`` as in CooperativeVectorLoad. Only its bytes are written (CV-ST-01)."""

    vector: CooperativeVector
    array: Array
    offset: ScalarValue
    memory: MemoryOperand | None = None
    inner: ScalarValue | None = None


@dataclass(frozen=True)
class CooperativeVectorExtract(VectorOperation):
    """OpVectorExtractDynamic: ``result`` is component ``index`` (u32) of ``vector``; the index is in range (CV-COMP-02)."""

    result: Scalar
    vector: CooperativeVector
    index: ScalarValue


@dataclass(frozen=True)
class CooperativeVectorInsert(VectorOperation):
    """OpVectorInsertDynamic: ``result`` is ``vector`` with ``part`` as its component ``index`` (u32); the index is in range
    (CV-COMP-02)."""

    result: CooperativeVector
    vector: CooperativeVector
    part: ScalarValue
    index: ScalarValue


@dataclass(frozen=True)
class VectorComponentsStored(Effect):
    """Each component of ``vector`` is an element of ``array``, whose pointee is the component type: component i is element
    ``first`` + i (u32)."""

    vector: CooperativeVector
    array: Array
    first: ScalarValue
