"""Constructed matrices and cooperative vectors: constants, null, undefined, and composites of a scalar (SPV_KHR_cooperative_matrix, 3.42.7
and 3.42.12; SPV_NV_cooperative_vector)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.program.operation import Operation, VectorOperation
from generators.program.values import CooperativeVector, Matrix, Operand, ScalarValue


@dataclass(frozen=True)
class MatrixSplat(Operation):
    """Every component of ``result`` is ``value``, a scalar of the component type (KHR-COMP-02); ``replicated`` for
    OpCompositeConstructReplicateEXT (KHR-COMP-05)."""

    result: Matrix
    value: ScalarValue
    replicated: bool = False


@dataclass(frozen=True)
class MatrixConstant(Operation):
    """``result`` is a constant of the module whose components are all ``value`` (KHR-COMP-01).

    Attributes:
        result: the matrix.
        value: a literal or a specialization constant of the component type.
        replicated: whether one of SPV_EXT_replicated_composites' instructions declares it (KHR-COMP-05).
        specializable: whether a specialization-constant instruction declares it although ``value`` is a literal, which SPIR-V allows; if
            ``value`` is a specialization constant, such an instruction always declares it.
    """

    result: Matrix
    value: Operand
    replicated: bool = False
    specializable: bool = False

    @property
    def values(self) -> tuple[Operand, ...]:
        """The one constituent, as a cooperative vector has several."""
        return (self.value,)


@dataclass(frozen=True)
class MatrixNull(Operation):
    """``result`` is OpConstantNull: zero in every component (KHR-COMP-04)."""

    result: Matrix


@dataclass(frozen=True)
class MatrixUndefined(Operation):
    """``result`` is OpUndef, in the module's declarations or in the function. It may be passed on, but nothing may depend on its value
    (KHR-COMP-04)."""

    result: Matrix
    place: Literal["module", "function"]


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
