"""Arrays in memory that a program reads and writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.program.values import BlockType, Extent, Operand, extent
from generators.types import ComponentType, ConversionCommand, StorageClass, VectorMatrixLayout
from generators.windows import Windows

Role = Literal["input", "output", "inout", "scratch"]

Pointers = Literal["typed", "untyped_chain", "untyped_variable"]
"""How a shader points into an array. ``typed``: OpVariable and OpAccessChain. ``untyped_chain``: OpVariable, and
OpUntypedAccessChainKHR with the array's own type as Base Type. ``untyped_variable``: OpUntypedVariableKHR, and the same chains."""


@dataclass(frozen=True)
class Pointee:
    """The type that an array is declared with, which need not be the matrix's component type (KHR-PTR-04).

    Attributes:
        component: scalar type of the declared element.
        lanes: 1 for a scalar, 2 or 4 for a vector.
        block: the struct that an element is, of which ``component`` and ``lanes`` then say nothing; None for a scalar or a vector. Only
            tensor loads and stores take pointers to structs (CM2-LT-04, KHR-PTR-02).
    """

    component: ComponentType
    lanes: int = 1
    block: BlockType | None = None

    @property
    def bytes(self) -> int:
        """Size of one array element in bytes. Strides and first elements count these."""
        return self.component.bytes * self.lanes if self.block is None else self.block.bytes

    def __str__(self) -> str:
        if self.block is not None:
            return self.block.name
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
        command: which conversion command brings the elements into the layout, and back: the one of the host or of the device.
    """

    component: ComponentType
    rows: int
    columns: int
    layout: VectorMatrixLayout
    count: int = 1
    pitch: Operand | None = None
    command: ConversionCommand = "device"

    @property
    def bytes(self) -> int:
        """Bytes of the elements of one matrix."""
        return self.rows * self.columns * self.component.bytes


@dataclass(frozen=True)
class Inner:
    """How an array of arrays is declared: its elements are those of inner arrays, one after the other.

    Attributes:
        length: of an inner array.
        head: 0 for an array of arrays. Otherwise inner arrays are members of structs, each after another member that has the size of
            ``head`` elements; numbers of elements count these too.
    """

    length: int
    head: int = 0

    @property
    def pitch(self) -> int:
        """The elements from the beginning of an inner array to that of the next one."""
        return self.head + self.length


@dataclass(frozen=True)
class Array:
    """An array of ``length`` elements of type ``pointee``.

    Attributes:
        name: unique in the program; GLSL identifier and key of ``Subcase.inputs``.
        role: ``input`` is never written by the shader (NonWritable); ``output`` starts as poison; ``inout`` starts with the subcase's
            data and is judged like an output; ``scratch`` is workgroup memory, which has no contents before or after.
        length: a literal; of workgroup memory it may be a specialization constant.
        array_stride: the ArrayStride decoration of the type, in bytes; None for the element's size. It must be ignored (KHR-PTR-03).
        pointer_stride: that of pointers to its elements, which must be ignored too; None for the same as the array's.
        pointers: how the shader points into it. Through untyped pointers strides of matrices count bytes (UP-MAT-02).
        block: byte offset of the array in an explicitly laid out block of workgroup memory; None where the memory has no explicit layout.
        alias_of: the array whose bytes it has. Of workgroup memory both are blocks that begin at the same byte; of a buffer this one is
            another Base Type for untyped pointers to the same variable. It is not among the arrays of a program.
        inner: how elements are in inner arrays of a buffer; None for a plain array.
        descriptors: name of the array of descriptors that the array's buffer belongs to; empty if it has a binding of its own.
        opaque: matrices that the array holds in a layout of the device's; None for bytes that mean the same everywhere.
        windows: which bytes of a large buffer are held; None for all. Contents before and after a dispatch are those bytes alone, and a
            program accesses no others.
    """

    name: str
    pointee: Pointee
    length: Extent
    storage: StorageClass
    role: Role
    array_stride: int | None = None
    pointer_stride: int | None = None
    pointers: Pointers = "typed"
    block: int | None = None
    alias_of: Array | None = None
    descriptors: str = ""
    opaque: OpaqueMatrices | None = None
    inner: Inner | None = None
    windows: Windows | None = None

    @property
    def is_untyped(self) -> bool:
        """Tell whether the pointers into it have no pointee type."""
        return self.pointers != "typed"

    @property
    def stride_bytes(self) -> int:
        """The bytes that a stride of 1 stands for: the pointee's, or one where the pointer has none (KHR-PTR-04, UP-MAT-02)."""
        return 1 if self.is_untyped else self.pointee.bytes

    @property
    def owner(self) -> Array:
        """The array that the bytes belong to: itself, unless it is an alias."""
        return self if self.alias_of is None else self.alias_of

    @property
    def start(self) -> int:
        """Where the array begins in the bytes of its owner."""
        return (self.block or 0) - (self.owner.block or 0)

    @property
    def count(self) -> int:
        """The number of elements in this case."""
        return extent(self.length)

    @property
    def span(self) -> int:
        """Size in bytes, as the shader sees the array."""
        return self.count * self.pointee.bytes

    @property
    def bytes(self) -> int:
        """Size of the contents in bytes: of all the array, or of its windows."""
        return self.span if self.windows is None else self.windows.bytes

    @property
    def other_stride(self) -> int | None:
        """The ArrayStride decoration in bytes where it is not the element's size, else None."""
        return None if self.array_stride == self.pointee.bytes else self.array_stride

    @property
    def ignored_stride(self) -> int | None:
        """Return the ArrayStride decoration of pointers to elements, in bytes, where it is not the element's size, else None."""
        return self.other_stride if self.pointer_stride is None else self.pointer_stride
