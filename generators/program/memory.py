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
        block: the struct of an element, in which case ``component`` and ``lanes`` have no meaning; None for a scalar or a vector. Only
            tensor loads and stores take pointers to structs (CM2-LT-04, KHR-PTR-02).
    """

    component: ComponentType
    lanes: int = 1
    block: BlockType | None = None

    @property
    def bytes(self) -> int:
        """Size of one array element in bytes, the unit of strides and first elements."""
        return self.component.bytes * self.lanes if self.block is None else self.block.bytes

    def __str__(self) -> str:
        if self.block is not None:
            return self.block.name
        return self.component.name if self.lanes == 1 else f"{self.component.name}x{self.lanes}"


MATRIX_ALIGNMENT = 64
"""Alignment in bytes of a matrix in a matrix-vector multiply or an outer product, in every valid program and for any layout
(RuntimeSpirv-OpCooperativeVectorMatrixMulNV-10097, -OpCooperativeVectorOuterProductAccumulateNV-10101)."""


@dataclass(frozen=True)
class OpaqueMatrices:
    """Matrices in an optimal layout, whose size and bytes the device decides: the whole contents of an array.

    Subcases, the reference model and comparison handle only the elements: each matrix row-major, without padding, one after another. A
    device converts them to its layout before a dispatch and back after it.

    Attributes:
        component: the component type of the elements.
        rows, columns: the size of each matrix, as it is stored (before any transposition).
        layout: an optimal layout.
        count: number of matrices.
        pitch: an operand (u32, from push constants) that gets the distance in bytes from one matrix to the next: a multiple of 64, which
            the device decides; for the reference model it is ``bytes``. None if a program needs only the first matrix.
        command: the conversion command, of the host or the device, that converts the elements to the layout and back.
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
        """Size of the elements of one matrix in bytes."""
        return self.rows * self.columns * self.component.bytes


@dataclass(frozen=True)
class Inner:
    """How an array of arrays is declared: it contains the elements of inner arrays, one after another.

    Attributes:
        length: the length of an inner array.
        head: 0 for an array of arrays. Otherwise inner arrays are members of structs, each after another member with the size of ``head``
            elements; element indices count these too.
    """

    length: int
    head: int = 0

    @property
    def pitch(self) -> int:
        """The distance from the start of an inner array to the start of the next, in elements."""
        return self.head + self.length


@dataclass(frozen=True)
class Array:
    """An array of ``length`` elements of type ``pointee``.

    Attributes:
        name: unique in the program; GLSL identifier and key of ``Subcase.inputs``.
        role: ``input`` is never written by the shader (NonWritable); ``output`` starts as poison; ``inout`` starts with the subcase's
            data and is judged like an output; ``scratch`` is workgroup memory, which has no contents before or after.
        length: a literal; in workgroup memory it may be a specialization constant.
        array_stride: the ArrayStride decoration of the type, in bytes; None for the element's size. It must be ignored (KHR-PTR-03).
        pointer_stride: the ArrayStride of pointers to its elements, which must also be ignored; None for the array's own.
        pointers: how the shader points into it. Through untyped pointers, strides of matrices count bytes (UP-MAT-02).
        block: byte offset of the array in an explicitly laid out block of workgroup memory; None if the memory has no explicit layout.
        alias_of: the array whose bytes it shares. In workgroup memory, both are blocks that begin at the same byte; in a buffer, this array
            is another Base Type for untyped pointers to the same variable. An alias is not among the arrays of a program.
        inner: the inner arrays that contain a buffer's elements; None for a plain array.
        descriptors: name of the array of descriptors to which the array's buffer belongs; empty if it has its own binding.
        opaque: matrices that the array holds in a layout that the device decides; None for bytes with a defined meaning.
        windows: the bytes of a large buffer that are held; None for all. Contents before and after a dispatch are only these bytes, and a
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

    def __hash__(self) -> int:
        # The name alone tells the arrays of a program apart. Hashing all the rest is slow.
        return hash(self.name)

    @property
    def is_untyped(self) -> bool:
        """Tell whether the pointers into it have no pointee type."""
        return self.pointers != "typed"

    @property
    def stride_bytes(self) -> int:
        """The number of bytes in a stride of 1: the size of the pointee, or one for pointers without a pointee type (KHR-PTR-04,
        UP-MAT-02)."""
        return 1 if self.is_untyped else self.pointee.bytes

    @property
    def owner(self) -> Array:
        """The array that the bytes belong to: itself, unless it is an alias."""
        return self if self.alias_of is None else self.alias_of

    @property
    def start(self) -> int:
        """The offset of the array in the bytes of its owner."""
        return (self.block or 0) - (self.owner.block or 0)

    @property
    def count(self) -> int:
        """The number of elements in this case."""
        return extent(self.length)

    @property
    def span(self) -> int:
        """Size in bytes of the array in the shader."""
        return self.count * self.pointee.bytes

    @property
    def bytes(self) -> int:
        """Size of the contents in bytes: of the whole array, or of its windows."""
        return self.span if self.windows is None else self.windows.bytes

    @property
    def other_stride(self) -> int | None:
        """The ArrayStride decoration in bytes if it is not the element's size, otherwise None."""
        return None if self.array_stride == self.pointee.bytes else self.array_stride

    @property
    def ignored_stride(self) -> int | None:
        """Return the ArrayStride decoration of pointers to elements in bytes if it is not the element's size, otherwise None."""
        return self.other_stride if self.pointer_stride is None else self.pointer_stride
