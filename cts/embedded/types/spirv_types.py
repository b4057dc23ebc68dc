"""The types of a module, and their layout in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np

from cts.embedded.diagnostics import Malformed, Violation
from generators.spirv.enumerants import StorageClass, TensorClampMode
from generators.types import SCALAR_TYPES, ComponentType, Scope, Use


@dataclass(frozen=True)
class Void:
    """OpTypeVoid."""


@dataclass(frozen=True)
class Bool:
    """OpTypeBool: a Python bool if all invocations agree, else a bool array."""

    dtype: np.dtype = field(default_factory=lambda: np.dtype(bool))


@dataclass(frozen=True, eq=False)
class Number:
    """OpTypeInt or OpTypeFloat. There is one object for each: see ``number``.

    Attributes:
        component: the component type.
        dtype: dtype of values: unsigned for every integer, because signedness belongs to instructions; else the component's own.
        mask: a mask of all bits.
    """

    component: ComponentType
    dtype: np.dtype
    signed_dtype: np.dtype
    mask: int

    @property
    def bits(self) -> int:
        return self.component.bits

    @property
    def bytes(self) -> int:
        return self.component.bytes

    @property
    def is_float(self) -> bool:
        return self.component.is_float


@cache
def number(name: str) -> Number:
    """Return the type of the component type ``name``."""
    component = SCALAR_TYPES[name]
    dtype = component.dtype if component.is_float else component.bits_dtype
    return Number(component, dtype, np.dtype(f"i{component.bytes}"), (1 << component.bits) - 1)


@dataclass(frozen=True)
class Vector:
    """OpTypeVector: a tuple of its components."""

    element: Type
    count: int


@dataclass(frozen=True)
class StridedVector(Vector):
    """A column of a row-major matrix in memory: its components are ``stride`` bytes apart."""

    stride: int


@dataclass(frozen=True)
class CooperativeVector(Vector):
    """OpTypeCooperativeVectorNV: a tuple of its components like a vector, but without a layout in memory. ``element`` is a Number."""

    @property
    def number(self) -> Number:
        """The type of a component."""
        assert isinstance(self.element, Number), "a declaration checks the component type"
        return self.element

    @property
    def bytes(self) -> int:
        """The number of bytes that a load or a store accesses."""
        return self.count * self.number.bytes


@dataclass(frozen=True)
class Array:
    """OpTypeArray, or OpTypeRuntimeArray if ``length`` is None: a tuple of its elements. ``stride`` is in bytes."""

    element: Type
    length: int | None
    stride: int


@dataclass(frozen=True)
class Struct:
    """OpTypeStruct: a tuple of its members.

    Attributes:
        members: types of the members as values.
        offsets: in bytes.
        read_only: numbers of the members that are decorated NonWritable.
        stored: types of the members in memory, where matrices may be row-major or have gaps; empty if they equal ``members``.
    """

    members: tuple[Type, ...]
    offsets: tuple[int, ...]
    read_only: frozenset[int] = frozenset()
    stored: tuple[Type, ...] = ()


@dataclass(frozen=True)
class PointerType:
    """OpTypePointer, or OpTypeUntypedPointerKHR if ``pointee`` is 0.

    ``pointee`` is an id, because a PhysicalStorageBuffer pointer may be declared before its pointee."""

    storage: StorageClass
    pointee: int

    @property
    def is_untyped(self) -> bool:
        return not self.pointee


@dataclass(frozen=True)
class ImageType:
    """OpTypeImage. ``sampled`` is the type of a component, ``dim`` a Dim. A storage image is read and written without a sampler."""

    sampled: Type
    dim: int
    is_arrayed: bool
    is_multisampled: bool
    is_storage: bool


@dataclass(frozen=True)
class SamplerType:
    """OpTypeSampler."""


@dataclass(frozen=True)
class SampledImageType:
    """OpTypeSampledImage."""

    image: ImageType


@dataclass(frozen=True)
class FunctionType:
    """OpTypeFunction."""

    result: Type
    parameters: tuple[Type, ...]


@dataclass(frozen=True)
class MatrixType:
    """OpTypeCooperativeMatrixKHR: an array of shape (instances of the scope, rows, columns).

    ``use`` is None for OpTypeCooperativeMatrixNV, which has no use."""

    number: Number
    scope: Scope
    rows: int
    columns: int
    use: Use | None

    def __str__(self) -> str:
        return f"{self.rows}x{self.columns} {self.number.component.name} matrix {self.use.name if self.use is not None else 'without use'}"


@dataclass(frozen=True)
class TensorLayoutType:
    """OpTypeTensorLayoutNV, an opaque type. Its values are tuples with the members of ``state``, see ``tensor.LayoutState``."""

    dim: int
    clamp_mode: TensorClampMode

    @property
    def state(self) -> Struct:
        """The struct of blockSize, layoutDimension, stride, offset, span, clampValue."""
        return _state(5, self.dim, 1)


@dataclass(frozen=True)
class TensorViewType:
    """OpTypeTensorViewNV, an opaque type. Its values are tuples with the members of ``state``, see ``tensor.ViewState``."""

    dim: int
    has_dimensions: bool
    permutation: tuple[int, ...]

    @property
    def state(self) -> Struct:
        """The struct of viewDimension, viewStride, clipRowOffset, clipRowSpan, clipColOffset, clipColSpan."""
        return _state(2, self.dim, 4)


@cache
def _state(arrays: int, dim: int, scalars: int) -> Struct:
    u32 = number("u32")
    members = (Array(u32, dim, u32.bytes),) * arrays + (u32,) * scalars
    return Struct(members, natural_offsets(members))


Opaque = ImageType | SamplerType | SampledImageType
Type = Void | Bool | Number | Vector | Array | Struct | PointerType | FunctionType | MatrixType | TensorLayoutType | TensorViewType | Opaque

ADDRESS_BYTES = 8


@cache
def size_of(type_: Type) -> int:
    """Return the size of a value of the type in memory, in bytes; 0 for a runtime array."""
    match type_:
        case CooperativeVector():
            raise Malformed(f"a {type_text(type_)} has no place in memory")
        case Number():
            return type_.bytes
        case Bool():
            return 1
        case StridedVector():
            return (type_.count - 1) * type_.stride + size_of(type_.element)
        case Vector():
            return type_.count * size_of(type_.element)
        case Array(StridedVector(), int() as columns):
            return (columns - 1) * type_.stride + size_of(type_.element)
        case Array():
            return 0 if type_.length is None else type_.stride * type_.length
        case Struct():
            return max((o + size_of(m) for o, m in zip(type_.offsets, type_.stored or type_.members, strict=True)), default=0)
        case PointerType():
            return ADDRESS_BYTES
        case _:
            raise Malformed(f"a {type_text(type_)} has no place in memory")


@cache
def alignment_of(type_: Type) -> int:
    """Return the alignment of a value of the type in bytes: the size of its largest scalar."""
    match type_:
        case Vector() | Array():
            return alignment_of(type_.element)
        case Struct():
            return max((alignment_of(m) for m in type_.members), default=1)
        case _:
            return size_of(type_)


def natural_offsets(members: tuple[Type, ...]) -> tuple[int, ...]:
    """Return the offsets of the members of a struct without decorations, each at its own alignment."""
    offsets, end = [], 0
    for member in members:
        if has_no_bytes(member):
            return (0,) * len(members)
        align = alignment_of(member)
        end = -(-end // align) * align
        offsets.append(end)
        end += size_of(member)
    return tuple(offsets)


@cache
def contains(type_: Type, *kinds: type) -> bool:
    """Return whether a type is of one of these classes, or has a part that is."""
    if isinstance(type_, kinds):
        return True
    match type_:
        case Array() | Vector():
            return contains(type_.element, *kinds)
        case Struct():
            return any(contains(member, *kinds) for member in type_.members)
        case _:
            return False


def has_no_bytes(type_: Type) -> bool:
    """Return whether a type is or contains a type without bytes: a cooperative matrix or vector, a tensor layout or view, an image."""
    return contains(type_, MatrixType, CooperativeVector, TensorLayoutType, TensorViewType, ImageType, SamplerType, SampledImageType)


def constituent_type(type_: Type, index: int) -> Type:
    """Return the type of constituent ``index`` of a composite. A matrix accepts any index, because its number of components varies.

    Raises:
        Malformed: there is no such constituent.
        Violation: the type is opaque.
    """
    match type_:
        case Vector() if index < type_.count:
            return type_.element
        case Array() if type_.length is None or index < type_.length:
            return type_.element
        case Struct() if index < len(type_.members):
            return type_.members[index]
        case MatrixType():
            return type_.number
        case TensorLayoutType() | TensorViewType():
            raise Violation("TA-OPQ-01", "a part of a tensor layout or view, which are opaque")
        case _:
            raise Malformed(f"constituent {index} of a {type_text(type_)}")


def stored_constituent(type_: Type, index: int) -> Type:
    """Return the type that constituent ``index`` of a composite has in memory; see ``constituent_type``."""
    return type_.stored[index] if isinstance(type_, Struct) and type_.stored else constituent_type(type_, index)


def constituent_count(type_: Type) -> int:
    """Return the number of constituents of a composite that is a tuple."""
    match type_:
        case Vector():
            return type_.count
        case Array():
            if type_.length is None:
                raise Malformed("a runtime array is not a value")
            return type_.length
        case Struct():
            return len(type_.members)
        case TensorLayoutType() | TensorViewType():
            raise Violation("TA-OPQ-01", "a part of a tensor layout or view, which are opaque")
        case _:
            raise Malformed(f"a {type_text(type_)} is not a composite")


def constituents(type_: Type) -> tuple[Type, ...]:
    """Return the types of the constituents of a composite that is a tuple."""
    return type_.members if isinstance(type_, Struct) else (constituent_type(type_, 0),) * constituent_count(type_)


def type_text(type_: Type) -> str:
    """Describe a type in a few words."""
    match type_:
        case Number():
            return type_.component.name
        case Bool():
            return "boolean"
        case CooperativeVector():
            return f"cooperative vector of {type_.count} {type_text(type_.element)}"
        case Vector():
            return f"vector of {type_.count} {type_text(type_.element)}"
        case Array():
            return f"array of {'any number of' if type_.length is None else type_.length} {type_text(type_.element)}"
        case Struct():
            return f"structure of {len(type_.members)} members"
        case PointerType():
            return f"{'untyped ' if type_.is_untyped else ''}pointer to {type_.storage.name} storage"
        case MatrixType():
            return str(type_)
        case _:
            return type(type_).__name__.removesuffix("Type").lower()
