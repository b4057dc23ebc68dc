"""What rules of types ask of a type: its kind, its shape, its parts, and what it is called."""

from __future__ import annotations

import enum

from cts.devices.embedded.diagnostics import Malformed, Violation
from cts.devices.embedded.spirv_types import (
    Array,
    Bool,
    MatrixType,
    Number,
    PointerType,
    Struct,
    TensorLayoutType,
    TensorViewType,
    Type,
    Vector,
)
from generators.spirv.enumerants import StorageClass

CELL_STORAGE = frozenset({StorageClass.Function, StorageClass.Private, StorageClass.Input})
"""Storage classes whose variables have no bytes."""

SHARED_STORAGE = frozenset({StorageClass.Workgroup, StorageClass.StorageBuffer, StorageClass.PhysicalStorageBuffer})
"""Storage classes of bytes that invocations share and may write: where atomics go, and whole matrices are loaded and stored."""


class Kind(enum.Enum):
    """What a scalar is."""

    INT = enum.auto()
    FLOAT = enum.auto()
    BOOL = enum.auto()
    NONE = enum.auto()


def kind_of(type_: Type) -> Kind:
    """The kind of a scalar; ``NONE`` of whatever else."""
    if isinstance(type_, Number):
        return Kind.FLOAT if type_.component.is_float else Kind.INT
    return Kind.BOOL if isinstance(type_, Bool) else Kind.NONE


def element_of(type_: Type) -> Type:
    """The component type of a vector; any other type itself."""
    return type_.element if isinstance(type_, Vector) else type_


def shape_of(type_: Type) -> int:
    """How many components a vector has; 0 of any other type."""
    return type_.count if isinstance(type_, Vector) else 0


def alike(one: Type, other: Type) -> bool:
    """Whether two scalars are the same but for the sign of integers."""
    if isinstance(one, Number) and isinstance(other, Number):
        return one.dtype == other.dtype
    return isinstance(one, Bool) and isinstance(other, Bool)


def is_physical(type_: Type) -> bool:
    """Whether a type is a pointer that is an address."""
    return isinstance(type_, PointerType) and type_.storage is StorageClass.PhysicalStorageBuffer


def constituent(type_: Type, index: int) -> Type:
    """The type of constituent ``index`` of a composite; of a matrix any, because how many there are is the device's choice.

    Raises:
        Malformed: there is none.
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


def type_text(type_: Type) -> str:
    """A type in a few words."""
    match type_:
        case Number():
            return type_.component.name
        case Bool():
            return "boolean"
        case Vector():
            return f"vector of {type_.count} {type_text(type_.element)}"
        case Array():
            return f"array of {'any number of' if type_.length is None else type_.length} {type_text(type_.element)}"
        case Struct():
            return f"structure of {len(type_.members)} members"
        case PointerType():
            return f"pointer to {type_.storage.name} storage"
        case MatrixType():
            return str(type_)
        case _:
            return type(type_).__name__.removesuffix("Type").lower()
