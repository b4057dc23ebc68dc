"""Reads and checks OpTypeTensorLayoutNV and OpTypeTensorViewNV (SPV_NV_tensor_addressing, 3.49.6)."""

from __future__ import annotations

from typing import Any

from cts.embedded.diagnostics import Violation
from cts.embedded.spirv_types import Bool, Number, TensorLayoutType, TensorViewType, Type
from generators.spirv.enumerants import TensorClampMode

MAX_DIM = 5

_Operand = tuple[Type, Any]
"""Type and value of an operand; the value is None if the operand is not a constant."""


def tensor_layout_type(*operands: _Operand) -> TensorLayoutType:
    """Return the type of a tensor layout from Dim and ClampMode.

    Raises:
        Violation: it breaks TA-TL-01 or TA-TL-02.
    """
    dim, mode = operands
    count = _dim(dim, "TA-TL-01", "layout")
    if not _is_constant_integer(mode) or mode[1] not in TensorClampMode:
        raise Violation("TA-TL-02", f"a tensor layout with ClampMode {mode[1]}, which is not a constant of a Tensor Clamp Mode")
    return TensorLayoutType(count, TensorClampMode(mode[1]))


def tensor_view_type(*operands: _Operand) -> TensorViewType:
    """Return the type of a tensor view from Dim, HasDimensions and the permutation.

    Raises:
        Violation: it breaks TA-TV-01, TA-TV-02 or TA-TV-03.
    """
    dim, has_dimensions, *permutation = operands
    count = _dim(dim, "TA-TV-01", "view")
    if not isinstance(has_dimensions[0], Bool) or has_dimensions[1] is None:
        raise Violation("TA-TV-02", "HasDimensions of a tensor view is not a constant boolean")
    order = tuple(value for _, value in permutation)
    if not all(map(_is_constant_integer, permutation)) or sorted(order) != list(range(count)):
        listed = ", ".join(map(str, order))
        raise Violation("TA-TV-03", f"({listed}) is not a permutation of 0 up to {count - 1}, in constants of 32-bit integer type")
    return TensorViewType(count, bool(has_dimensions[1]), order)


def _dim(operand: _Operand, rule: str, what: str) -> int:
    value = operand[1]
    if not _is_constant_integer(operand) or not 1 <= value <= MAX_DIM:
        raise Violation(rule, f"a tensor {what} with Dim {value}, which is not a constant 32-bit integer from 1 to {MAX_DIM}")
    return int(value)


def _is_constant_integer(operand: _Operand) -> bool:
    type_, value = operand
    return is_int32(type_) and value.__class__ is int


def is_int32(type_: Type) -> bool:
    """Return whether a type is a scalar 32-bit integer, of either signedness."""
    return isinstance(type_, Number) and not type_.is_float and type_.bits == 32
