"""Cooperative vectors: loads, stores, construction, and components at a run-time index (SPV_NV_cooperative_vector, 2.2.2 and 3.42.8).

A cooperative vector belongs to one invocation, so these operations are code of a ``PerInvocation``, in any control flow.
``CompositeConstruct``, ``CompositeExtract`` and ``CompositeInsert`` take components at constant indices; paths of ``VariableLoad`` and
``VariableStore`` take components of a variable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.program.load_store import MemoryOperand
from generators.program.memory import Array
from generators.program.operation import Effect, Operation
from generators.program.values import CooperativeVector, Operand, Scalar, ScalarValue

VECTOR_ALIGNMENT = 16
"""Alignment in bytes of a vector or a bias in every valid program (RuntimeSpirv-OpCooperativeVectorLoadNV-10099,
-OpCooperativeVectorMatrixMulAddNV-10098, -OpCooperativeVectorReduceSumAccumulateNV-10100)."""


@dataclass(frozen=True)
class VectorOperation(Operation):
    """An operation on cooperative vectors, which single invocations execute in any control flow and with any operands (CV-CTRL-01)."""


@dataclass(frozen=True)
class CooperativeVectorLoad(VectorOperation):
    """``result`` is read from byte ``offset`` (u32 or s32, a multiple of 16) of ``array``, whose pointee does not matter (CV-LD-01,
    CV-LD-02). The default scope of ``memory`` is the workgroup."""

    result: CooperativeVector
    array: Array
    offset: ScalarValue
    memory: MemoryOperand | None = None


@dataclass(frozen=True)
class CooperativeVectorStore(VectorOperation):
    """``vector`` is written to ``array``; addressing and ``memory`` as in CooperativeVectorLoad. Only its bytes are written (CV-ST-01)."""

    vector: CooperativeVector
    array: Array
    offset: ScalarValue
    memory: MemoryOperand | None = None


@dataclass(frozen=True)
class CooperativeVectorSplat(VectorOperation):
    """Every component of ``result`` is ``value``, a scalar of the component type: one constituent for each component, or
    OpCompositeConstructReplicateEXT if ``replicated``, which is necessary if the length is a specialization constant (CV-COMP-04)."""

    result: CooperativeVector
    value: ScalarValue
    replicated: bool = False


@dataclass(frozen=True)
class CooperativeVectorConstant(VectorOperation):
    """``result`` is a constant of the module (CV-COMP-01).

    Attributes:
        result: the vector.
        values: literals or specialization constants of the component type, one for each component; one for all if ``replicated``.
        replicated: whether one of SPV_EXT_replicated_composites' instructions declares it (CV-COMP-04).
    """

    result: CooperativeVector
    values: tuple[Operand, ...]
    replicated: bool = False


@dataclass(frozen=True)
class CooperativeVectorNull(VectorOperation):
    """``result`` is OpConstantNull: zero in every component."""

    result: CooperativeVector


@dataclass(frozen=True)
class CooperativeVectorUndefined(VectorOperation):
    """``result`` is OpUndef, in the module's declarations or in the function. It may be passed on, but nothing may depend on its value."""

    result: CooperativeVector
    place: Literal["module", "function"]


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
