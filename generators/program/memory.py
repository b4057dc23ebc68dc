"""Arrays in memory that a program reads and writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.program.values import Extent, Operand, extent
from generators.types import ComponentType, StorageClass, VectorMatrixLayout

Role = Literal["input", "output", "inout", "scratch"]


@dataclass(frozen=True)
class Pointee:
    """The type that an array is declared with, which need not be the matrix's component type (KHR-PTR-04).

    Attributes:
        component: scalar type of the declared element.
        lanes: 1 for a scalar, 2 or 4 for a vector.
    """

    component: ComponentType
    lanes: int = 1

    @property
    def bytes(self) -> int:
        """Size of one array element in bytes. Strides and first elements count these."""
        return self.component.bytes * self.lanes

    def __str__(self) -> str:
        return self.component.name if self.lanes == 1 else f"{self.component.name}x{self.lanes}"


MATRIX_ALIGNMENT = 64
"""Bytes to which a matrix of a matrix-vector multiply or an outer product is aligned in every valid program, whatever its layout
(RuntimeSpirv-OpCooperativeVectorMatrixMulNV-10097, -OpCooperativeVectorOuterProductAccumulateNV-10101)."""


@dataclass(frozen=True)
class OpaqueMatrices:
    """Matrices in an optimal layout, of which the device decides size and bytes: the whole contents of an array.

    Subcases, the reference model and comparison know the elements alone: each matrix row-major, without padding, one after another. A
    device converts them to its layout before a dispatch and back after it.

    Attributes:
        component: of the elements.
        rows, columns: of each matrix, as it is stored (before any transposition).
        layout: one of the optimal ones.
        count: so many matrices.
        pitch: an operand (u32, from push constants) that gets the bytes from one matrix to the next: a multiple of 64, which the device
            decides; for the reference model it is ``bytes``. None where a program needs the first matrix alone.
    """

    component: ComponentType
    rows: int
    columns: int
    layout: VectorMatrixLayout
    count: int = 1
    pitch: Operand | None = None

    @property
    def bytes(self) -> int:
        """Bytes of the elements of one matrix."""
        return self.rows * self.columns * self.component.bytes


@dataclass(frozen=True)
class Array:
    """An array of ``length`` elements of type ``pointee``.

    Attributes:
        name: unique in the program; GLSL identifier and key of ``Subcase.inputs``.
        role: ``input`` is never written by the shader (NonWritable); ``output`` starts as poison; ``inout`` starts with the subcase's
            data and is judged like an output; ``scratch`` is workgroup memory, which has no contents before or after.
        length: a literal; of workgroup memory it may be a specialization constant.
        array_stride: the ArrayStride decoration in bytes; None for the element's size. It must be ignored (KHR-PTR-03).
        opaque: matrices that the array holds in a layout of the device's; None for bytes that mean the same everywhere.
    """

    name: str
    pointee: Pointee
    length: Extent
    storage: StorageClass
    role: Role
    array_stride: int | None = None
    opaque: OpaqueMatrices | None = None

    @property
    def count(self) -> int:
        """The number of elements in this case."""
        return extent(self.length)

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return self.count * self.pointee.bytes

    @property
    def other_stride(self) -> int | None:
        """The ArrayStride decoration in bytes where it is not the element's size, else None."""
        return None if self.array_stride == self.pointee.bytes else self.array_stride
