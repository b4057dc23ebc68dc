"""OpCooperativeMatrixLoadTensorNV and OpCooperativeMatrixStoreTensorNV (SPV_NV_cooperative_matrix2, 3.49.8)."""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.load_store import MemoryOperand
from generators.program.memory import Array
from generators.program.tensor import TensorLayout, TensorView
from generators.program.values import Matrix, ScalarValue

POINTER_ALIGNMENT = 16
"""Bytes of which the pointer is a multiple (CM2-LT-06)."""


@dataclass(frozen=True)
class TensorLoad:
    """``result`` is read from the tensor that begins at element ``first`` of ``array``, counted in the array's pointee.

    Attributes:
        before: the matrix whose elements stay where the view's clip window leaves them out.
        layout, view: where the elements are; without a view, by the layout alone.
    """

    result: Matrix
    array: Array
    first: ScalarValue
    before: Matrix
    layout: TensorLayout
    view: TensorView | None = None
    memory: MemoryOperand | None = None


@dataclass(frozen=True)
class TensorStore:
    """``matrix`` is written to the tensor that begins at element ``first`` of ``array``; addressing as in TensorLoad."""

    matrix: Matrix
    array: Array
    first: ScalarValue
    layout: TensorLayout
    view: TensorView | None = None
    memory: MemoryOperand | None = None
