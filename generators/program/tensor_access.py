"""OpCooperativeMatrixLoadTensorNV and OpCooperativeMatrixStoreTensorNV (SPV_NV_cooperative_matrix2, 3.49.8)."""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.functions import Function
from generators.program.load_store import MemoryOperand
from generators.program.memory import Array
from generators.program.operation import Operation
from generators.program.values import Matrix, ScalarValue, TensorLayout, TensorView, VectorType, is_block_pointer

POINTER_ALIGNMENT = 16
"""Required alignment of the pointer in bytes (CM2-LT-06)."""


@dataclass(frozen=True)
class TensorLoad(Operation):
    """``result`` is read from the tensor that begins at element ``first`` of ``array``, counted in the array's pointee.

    Attributes:
        before: the matrix whose elements remain outside the view's clip window.
        layout, view: the placement of the elements; without a view, only the layout.
        decode: computes each element from a pointer to its block, the block's coordinates and the coordinates in the block (CM2-DEC-*).
        decode_vector: computes a group of elements, whose last coordinates in the block are consecutive, from the same arguments for the
            first of them; a device may call it instead of ``decode`` (SPV_NV_cooperative_matrix_decode_vector).
    """

    rests_on = ("DV-SEM-01", "CM2-DEC-06")
    result: Matrix
    array: Array
    first: ScalarValue
    before: Matrix
    layout: TensorLayout
    view: TensorView | None = None
    memory: MemoryOperand | None = None
    decode: Function | None = None
    decode_vector: Function | None = None


@dataclass(frozen=True)
class TensorStore(Operation):
    """``matrix`` is written to the tensor that begins at element ``first`` of ``array``; addressing as in TensorLoad."""

    matrix: Matrix
    array: Array
    first: ScalarValue
    layout: TensorLayout
    view: TensorView | None = None
    memory: MemoryOperand | None = None


def moved_matrix(access: TensorLoad | TensorStore) -> Matrix:
    """Return the matrix that is loaded or stored."""
    return access.result if isinstance(access, TensorLoad) else access.matrix


def block_bytes(function: Function) -> int:
    """Return the size of the block that a decode function gets, which is the unit of its pointer (CM2-DEC-04, F-DV-1)."""
    pointer = function.parameters[0]
    assert is_block_pointer(pointer), "the first parameter of a decode function is a pointer"
    return pointer.type.bytes


def group_width(function: Function) -> int:
    """Return the number of elements that a vector decode function decodes at once."""
    assert function.returned is not None, "a vector decode function returns a vector"
    type_ = function.returned.type
    assert isinstance(type_, VectorType), "a vector decode function returns a vector"
    return type_.lanes


def unit_bytes(access: TensorLoad | TensorStore) -> int:
    """Return the unit of addressing in bytes: the size of a component, or of the block that a decode function gets (CM2-DEC-04)."""
    if isinstance(access, TensorLoad) and access.decode is not None:
        return block_bytes(access.decode)
    matrix = moved_matrix(access)
    return matrix.type.component.bytes
