"""Constructed matrices: constants, null, undefined, and composites of a scalar (SPV_KHR_cooperative_matrix, 3.42.7 and 3.42.12)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.program.operation import Operation
from generators.program.values import Matrix, Operand, ScalarValue


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
