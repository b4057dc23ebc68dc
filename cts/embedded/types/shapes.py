"""Helpers for type rules: the kind and the shape of a value, and whether two types are alike."""

from __future__ import annotations

import enum

from cts.embedded.types.spirv_types import Array, Bool, Number, PointerType, Type, Vector
from generators.spirv.enumerants import StorageClass

CELL_STORAGE = frozenset({StorageClass.Function, StorageClass.Private, StorageClass.Input, StorageClass.Output})
"""Storage classes whose variables have no bytes."""

SHARED_STORAGE = frozenset({StorageClass.Workgroup, StorageClass.StorageBuffer, StorageClass.PhysicalStorageBuffer})
"""Storage classes with bytes that invocations share and may write, for atomics and for loads and stores of matrices."""


class TypeKind(enum.Enum):
    """The kind of a scalar."""

    INT = enum.auto()
    FLOAT = enum.auto()
    BOOL = enum.auto()
    NONE = enum.auto()


INT, FLOAT, BOOL = frozenset({TypeKind.INT}), frozenset({TypeKind.FLOAT}), frozenset({TypeKind.BOOL})
NUMBER = INT | FLOAT
"""Sets of kinds, for rules that allow several."""


def kind_of(type_: Type) -> TypeKind:
    """Return the kind of a scalar; ``NONE`` for any other type."""
    if isinstance(type_, Number):
        return TypeKind.FLOAT if type_.component.is_float else TypeKind.INT
    return TypeKind.BOOL if isinstance(type_, Bool) else TypeKind.NONE


def element_of(type_: Type) -> Type:
    """Return the component type of a vector; any other type itself."""
    return type_.element if isinstance(type_, Vector) else type_


def shape_of(type_: Type) -> int:
    """Return the number of components of a vector; 0 for any other type."""
    return type_.count if isinstance(type_, Vector) else 0


def are_alike(one: Type, other: Type) -> bool:
    """Return whether two types are of one scalar, except for the sign of integers; no other types are alike."""
    if isinstance(one, Number) and isinstance(other, Number):
        return one.dtype == other.dtype
    return isinstance(one, Bool) and isinstance(other, Bool)


def is_physical(type_: Type) -> bool:
    """Return whether a type is a pointer that is an address."""
    return isinstance(type_, PointerType) and type_.storage is StorageClass.PhysicalStorageBuffer


def bits_of(type_: Type) -> int:
    """Return the number of bits of a number, an address or a vector; 0 for any other type."""
    if isinstance(type_, Vector):
        return type_.count * bits_of(type_.element)
    return 64 if is_physical(type_) else type_.bits if isinstance(type_, Number) else 0


def is_columns(type_: Type) -> bool:
    """Return whether a type is an OpTypeMatrix: an array of columns."""
    return isinstance(type_, Array) and isinstance(type_.element, Vector)


def is_number(type_: Type, name: str) -> bool:
    """Return whether a type is the scalar number with the name of a component type."""
    return isinstance(type_, Number) and type_.component.name == name


def is_int32(type_: Type) -> bool:
    """Return whether a type is a scalar 32-bit integer, of either signedness."""
    return isinstance(type_, Number) and not type_.is_float and type_.bits == 32
