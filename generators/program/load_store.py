"""OpCooperativeMatrixLoadKHR and OpCooperativeMatrixStoreKHR (SPV_KHR_cooperative_matrix, 3.42.8)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from generators.program.memory import Array
from generators.program.operation import Operation
from generators.program.values import Matrix, MatrixType, Operand, ScalarValue
from generators.types import Layout, MemoryAccess, MemoryScope

MemoryLayout = Layout | Operand
"""A literal layout, or a specialization constant whose value is one."""


@dataclass(frozen=True)
class MemoryOperand:
    """A Memory Operand mask with its operands: the alignment in bytes for Aligned, and the scope of visibility or availability; None for
    the matrix's scope."""

    mask: MemoryAccess
    alignment: int | None = None
    scope: MemoryScope | None = None


@dataclass(frozen=True)
class MatrixLoad(Operation):
    """``result`` is read from ``array``, beginning at element ``first`` and with ``stride`` between rows (columns), both counted in
    the array's pointee. ``robust``: elements may be beyond the array, a buffer; the kernel asks for bounds checks (KHR-MEM-02)."""

    result: Matrix
    array: Array
    first: ScalarValue
    stride: ScalarValue
    layout: MemoryLayout
    memory: MemoryOperand | None = None
    robust: bool = False


@dataclass(frozen=True)
class MatrixStore(Operation):
    """``matrix`` is written to ``array``; addressing and ``robust`` as in MatrixLoad."""

    matrix: Matrix
    array: Array
    first: ScalarValue
    stride: ScalarValue
    layout: MemoryLayout
    memory: MemoryOperand | None = None
    robust: bool = False


def layout_value(layout: MemoryLayout) -> Layout:
    """Return the layout in this case."""
    if isinstance(layout, Layout):
        return layout
    assert layout.value is not None, f"{layout.name}: a layout has its value in the case"
    return Layout(layout.value)


def guaranteed_alignment(type_: MatrixType, layout: Layout, array: Array) -> int:
    """Return the alignment in bytes, a power of two, of an access to a matrix of ``type_`` in every valid program.

    RuntimeSpirv-OpCooperativeMatrixLoadKHR-08986 asks for the smaller of 16 and the size in bytes of a row (row major) or column; a pointer
    to an element is aligned to its scalar as well.
    """
    rows, columns = type_.shape
    line = (columns if layout is Layout.ROW_MAJOR else rows) * type_.component.bytes
    return max(math.gcd(16, line), array.pointee.component.bytes)
