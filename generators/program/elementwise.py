"""Arithmetic on the elements of matrices (SPV_KHR_cooperative_matrix, 3.42.13, Arithmetic Instructions), and instructions on the components
of cooperative vectors: arithmetic, bits, conversions, and functions of GLSL.std.450 (SPV_NV_cooperative_vector, 3.42.11, 3.42.13 and
3.42.14)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from generators.program.conversion import Conversion, conversions
from generators.program.operation import Operation, VectorOperation
from generators.program.values import CooperativeVector, Matrix, ScalarValue
from generators.types import ComponentType

Operator = Literal["add", "subtract", "multiply", "divide", "signed_divide", "unsigned_divide"]
"""``divide`` is OpFDiv. Integers have OpSDiv and OpUDiv, whose operands are signed or unsigned whatever OpTypeInt says; the other operators
are OpF or OpI, depending on the components."""


@dataclass(frozen=True)
class MatrixNegate(Operation):
    """``result`` = -``operand``: OpFNegate, or OpSNegate on integers of either signedness (KHR-ARI-01)."""

    result: Matrix
    operand: Matrix


@dataclass(frozen=True)
class MatrixArithmetic(Operation):
    """``result`` = ``left`` (operator) ``right``, element by element; all of one type (KHR-ARI-02, KHR-ARI-04).

    ``no_contraction``: with the decoration NoContraction.
    """

    result: Matrix
    operator: Operator
    left: Matrix
    right: Matrix
    no_contraction: bool = False


@dataclass(frozen=True)
class MatrixTimesScalar(Operation):
    """``result`` = ``matrix`` * ``scalar``, a scalar of the component type (KHR-ARI-05). MatrixArithmetic explains ``no_contraction``."""

    result: Matrix
    matrix: Matrix
    scalar: ScalarValue
    no_contraction: bool = False


BitOperator = Literal["and", "or", "xor", "shift_left", "shift_right_logical", "shift_right_arithmetic"]
"""OpBitwiseAnd, OpBitwiseOr, OpBitwiseXor, OpShiftLeftLogical, OpShiftRightLogical and OpShiftRightArithmetic. Shift amounts, read as
unsigned, are less than the width."""

VectorFunction = Literal[
    "FMin", "UMin", "SMin", "NMin", "FMax", "UMax", "SMax", "NMax", "FClamp", "UClamp", "SClamp", "NClamp",
    "Step", "Exp", "Log", "Tanh", "Atan", "Fma",
]  # fmt: skip
"""The functions of GLSL.std.450 that take cooperative vectors (CV-ARI-04), by their names there."""

ARGUMENTS: Mapping[VectorFunction, int] = MappingProxyType(
    {
        **dict.fromkeys(("FMin", "UMin", "SMin", "NMin", "FMax", "UMax", "SMax", "NMax", "Step"), 2),
        **dict.fromkeys(("FClamp", "UClamp", "SClamp", "NClamp", "Fma"), 3),
        **dict.fromkeys(("Exp", "Log", "Tanh", "Atan"), 1),
    }
)
"""Number of arguments of each function."""

_INTEGER = frozenset({"UMin", "SMin", "UMax", "SMax", "UClamp", "SClamp"})


@dataclass(frozen=True)
class CooperativeVectorNegate(VectorOperation):
    """``result`` = -``operand``: OpFNegate, or OpSNegate on integers of either signedness (CV-ARI-01)."""

    result: CooperativeVector
    operand: CooperativeVector


@dataclass(frozen=True)
class CooperativeVectorNot(VectorOperation):
    """``result`` = OpNot of ``operand``, whose components are integers (CV-BIT-01)."""

    result: CooperativeVector
    operand: CooperativeVector


@dataclass(frozen=True)
class CooperativeVectorArithmetic(VectorOperation):
    """``result`` = ``left`` (operator) ``right``, component by component; all of one type (CV-ARI-01, CV-ARI-02). ``no_contraction``: with
    the decoration NoContraction."""

    result: CooperativeVector
    operator: Operator
    left: CooperativeVector
    right: CooperativeVector
    no_contraction: bool = False


@dataclass(frozen=True)
class CooperativeVectorBits(VectorOperation):
    """``result`` = ``left`` (operator) ``right``, component by component; all of one type, of integers (CV-BIT-01)."""

    result: CooperativeVector
    operator: BitOperator
    left: CooperativeVector
    right: CooperativeVector


@dataclass(frozen=True)
class CooperativeVectorTimesScalar(VectorOperation):
    """OpVectorTimesScalar: ``result`` = ``vector`` * ``scalar``, floats of one type (CV-ARI-03)."""

    result: CooperativeVector
    vector: CooperativeVector
    scalar: ScalarValue
    no_contraction: bool = False


@dataclass(frozen=True)
class CooperativeVectorConvert(VectorOperation):
    """``result`` is ``vector`` converted component by component; both have the same length (CV-CVT-01, CV-CVT-02)."""

    result: CooperativeVector
    vector: CooperativeVector
    conversion: Conversion


@dataclass(frozen=True)
class CooperativeVectorFunction(VectorOperation):
    """``result`` is ``function`` of ``arguments``, component by component; all of one type (CV-ARI-04). Arguments are in the order of
    GLSL.std.450: FClamp(x, minVal, maxVal), Step(edge, x), Fma(a, b, c)."""

    result: CooperativeVector
    function: VectorFunction
    arguments: tuple[CooperativeVector, ...]


def converts(operation: CooperativeVectorConvert) -> bool:
    """Return whether the instruction takes the types of ``operation``."""
    source, target = operation.vector.type, operation.result.type
    if source.count != target.count or source.component is target.component:
        return False
    if operation.conversion is Conversion.BITCAST:
        return source.component.bits == target.component.bits
    return operation.conversion in conversions(source.component, target.component)


def takes(function: VectorFunction, component: ComponentType) -> bool:
    """Return whether ``function`` takes vectors of ``component``: U and S read the bits as unsigned or signed, whatever OpTypeInt says, the
    others take floats; Exp, Log, Tanh and Atan take 16 or 32 bits."""
    if function in _INTEGER:
        return not component.is_float
    if function in ("Exp", "Log", "Tanh", "Atan"):
        return component.is_float and component.bits in (16, 32) and component.has_arithmetic
    return component.is_float and component.has_arithmetic
