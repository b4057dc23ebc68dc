"""Types, values and scalar operands of a program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from generators.types import ClampMode, ComponentType, Scope, StorageClass, Use

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Source = Literal["literal", "specialization", "push_constant", "buffer"]


@dataclass(frozen=True)
class Operand:
    """A scalar that the shader does not compute. Its source decides whether a compiler can know its value.

    Attributes:
        name: unique in the program; GLSL identifier and key of ``Subcase.operands``.
        type: its scalar type (``u32``, ``s32``, ``u64``, ``s64``, or any component type for data).
        source: ``literal`` and ``specialization`` have the case's ``value``; ``push_constant`` and ``buffer`` take the value
            from each subcase.
        value: the value in this case (literal, specialization), otherwise None; for a float, its bits.
        constant_id: SpecId, for ``specialization``.
        default: the module's default for a specialization constant, different from ``value`` wherever that is legal, so an implementation
            that forgets to specialize is noticed.
        usual: the value that a subcase gives unless it says otherwise (push_constant, buffer); None if each subcase says it.
    """

    name: str
    type: ComponentType
    source: Source
    value: int | None = None
    constant_id: int | None = None
    default: int | None = None
    usual: int | None = field(default=None, compare=False, repr=False)


def literal(component: ComponentType, value: int) -> Operand:
    """Return a literal; for a float, ``value`` is its bits."""
    return Operand(f"literal_{component.name}_{value}", component, "literal", value)


@dataclass(frozen=True)
class Selected:
    """OpSpecConstantOp Select: ``chosen`` where the specialization constant ``flag`` (u32) is not 0, otherwise ``otherwise``."""

    flag: Operand
    chosen: int
    otherwise: int


Extent = int | Operand | Selected
"""Rows or columns of a matrix type, or the length of an array: a literal, a specialization constant, or one of two literals that a
specialization constant selects."""


def extent(value: Extent) -> int:
    """Return the value of an extent in this case."""
    if isinstance(value, int):
        return value
    if isinstance(value, Selected):
        return value.chosen if extent(value.flag) else value.otherwise
    assert value.value is not None, f"{value.name}: an extent has its value in the case"
    return value.value


@dataclass(frozen=True)
class MatrixType:
    """OpTypeCooperativeMatrixKHR: ``rows`` x ``columns`` components, spread over one ``scope`` instance. Each of these, and ``use``, is a
    literal or a specialization constant (KHR-TYPE-03, KHR-TYPE-04)."""

    component: ComponentType
    scope: Scope | Operand
    rows: Extent
    columns: Extent
    use: Use | Operand

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) in this case."""
        return extent(self.rows), extent(self.columns)

    @property
    def scope_value(self) -> Scope:
        """The scope in this case."""
        return self.scope if isinstance(self.scope, Scope) else Scope(extent(self.scope))

    @property
    def use_value(self) -> Use:
        """The use in this case."""
        return self.use if isinstance(self.use, Use) else Use(extent(self.use))


MOST_PLAIN_LANES = 4
"""Number of components in the longest vector that needs no capability (SPV_EXT_long_vector)."""


@dataclass(frozen=True)
class VectorType:
    """A vector of 2 to 4 scalars, or of more (SPV_EXT_long_vector)."""

    component: ComponentType
    lanes: int


@dataclass(frozen=True)
class CooperativeVectorType:
    """OpTypeCooperativeVectorNV: ``length`` components of one type, which belong to one invocation. The length is a literal, or a
    specialization constant (CV-TYPE-03)."""

    component: ComponentType
    length: Extent

    @property
    def count(self) -> int:
        """The number of components in this case."""
        return extent(self.length)

    @property
    def bytes(self) -> int:
        """The number of bytes that a load or store of one vector accesses in this case."""
        return self.count * self.component.bytes


@dataclass(frozen=True)
class ArrayType:
    """``length`` elements of one type."""

    element: ValueType
    length: Extent


@dataclass(frozen=True)
class StructType:
    """Members of any types. ``name`` is unique in the program."""

    name: str
    members: tuple[ValueType, ...]


@dataclass(frozen=True)
class TensorLayoutType:
    """OpTypeTensorLayoutNV: ``rank`` dimensions, 1 to 5. Both are literals, or specialization constants (TA-TL-03)."""

    rank: Extent
    clamp: ClampMode | Operand = ClampMode.UNDEFINED

    @property
    def clamp_value(self) -> ClampMode:
        """The mode in this case."""
        return self.clamp if isinstance(self.clamp, ClampMode) else ClampMode(extent(self.clamp))


@dataclass(frozen=True)
class TensorViewType:
    """OpTypeTensorViewNV.

    Attributes:
        permutation: the permutation of the view's dimensions, 1 to 5 of them.
        has_dimensions: whether it has its own dimensions and strides; an operand is a u32 specialization constant that is nonzero for true.
        rank: the Dim operand if it is a specialization constant; None for a literal.
    """

    permutation: tuple[Extent, ...]
    has_dimensions: bool | Operand = False
    rank: Operand | None = None


@dataclass(frozen=True)
class BlockMember:
    """A member of a block at byte ``offset``: an array of ``length`` scalars, or one scalar if ``length`` is None."""

    component: ComponentType
    offset: int
    length: int | None = None

    @property
    def end(self) -> int:
        """The byte after it."""
        return self.offset + self.component.bytes * (1 if self.length is None else self.length)


@dataclass(frozen=True)
class BlockType:
    """A block of packed data in physical storage: a value of this type is a pointer to one. The next block follows its last member
    (F-CM2-6).

    Attributes:
        name: unique in the program.
        alignment: bytes, a power of two that divides the size.
    """

    name: str
    members: tuple[BlockMember, ...]
    alignment: int

    @property
    def bytes(self) -> int:
        """Its size."""
        return max(member.end for member in self.members)


@dataclass(frozen=True)
class PointerType:
    """A pointer to an element of an array.

    Attributes:
        component, lanes: the pointee, a scalar or a vector. For an untyped pointer, the type with which its chain accesses the memory.
        storage: the storage class of the array.
        untyped: whether it is an OpTypeUntypedPointerKHR.
        strided: whether the type has the ArrayStride of the elements, which pointers need for OpPtrAccessChain.
    """

    component: ComponentType
    lanes: int
    storage: StorageClass
    untyped: bool = False
    strided: bool = False

    @property
    def bytes(self) -> int:
        """Size of an element."""
        return self.component.bytes * self.lanes

    @property
    def stride_bytes(self) -> int:
        """The number of bytes in a stride of 1 (KHR-PTR-04, UP-MAT-02)."""
        return 1 if self.untyped else self.bytes


ValueType = (
    MatrixType
    | CooperativeVectorType
    | ArrayType
    | StructType
    | VectorType
    | ComponentType
    | TensorLayoutType
    | TensorViewType
    | BlockType
    | PointerType
)
"""A ComponentType is a scalar."""

T_co = TypeVar("T_co", bound=ValueType, covariant=True)


@dataclass(frozen=True)
class Value(Generic[T_co]):
    """A value that the shader computes. In the reference model, one value holds the values of all scope instances."""

    name: str
    type: T_co


Matrix = Value[MatrixType]
CooperativeVector = Value[CooperativeVectorType]
Scalar = Value[ComponentType]
Aggregate = Value[ArrayType | StructType | VectorType]
ArrayValue = Value[ArrayType]
TensorLayout = Value[TensorLayoutType]
TensorView = Value[TensorViewType]
BlockPointer = Value[BlockType]
Pointer = Value[PointerType]
AnyValue = Value[ValueType]
ScalarValue = Operand | Scalar


def is_matrix(value: object) -> TypeIs[Matrix]:
    """Return whether ``value`` is a cooperative matrix."""
    return isinstance(value, Value) and isinstance(value.type, MatrixType)


def is_cooperative_vector(value: object) -> TypeIs[CooperativeVector]:
    """Return whether ``value`` is a cooperative vector."""
    return isinstance(value, Value) and isinstance(value.type, CooperativeVectorType)


def is_scalar(value: object) -> TypeIs[ScalarValue]:
    """Return whether ``value`` is a scalar, computed or from outside."""
    return isinstance(value, Operand | Value) and isinstance(value.type, ComponentType)


def is_aggregate(value: object) -> TypeIs[Aggregate]:
    """Return whether ``value`` is a whole array, struct or vector."""
    return isinstance(value, Value) and isinstance(value.type, ArrayType | StructType | VectorType)


def is_tensor_layout(value: object) -> TypeIs[TensorLayout]:
    """Return whether ``value`` is a tensor layout."""
    return isinstance(value, Value) and isinstance(value.type, TensorLayoutType)


def is_tensor(value: object) -> TypeIs[TensorLayout | TensorView]:
    """Return whether ``value`` is a tensor layout or a tensor view."""
    return isinstance(value, Value) and isinstance(value.type, TensorLayoutType | TensorViewType)


def is_block_pointer(value: object) -> TypeIs[BlockPointer]:
    """Return whether ``value`` is a pointer to a block."""
    return isinstance(value, Value) and isinstance(value.type, BlockType)


def is_pointer(value: object) -> TypeIs[Pointer]:
    """Return whether ``value`` is a pointer to an element of an array."""
    return isinstance(value, Value) and isinstance(value.type, PointerType)
