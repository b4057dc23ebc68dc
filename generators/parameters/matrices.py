"""Parameters shared by families of a property row, of one matrix, and of one matrix and a tensor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from generators.layouts.placement import PointeeName, pointee_of
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import SCOPE, SOURCE_NAMES, STORAGE_CLASSES, USES, Scoped, parse_shape
from generators.program.memory import Pointee
from generators.program.values import MatrixType
from generators.property_rows import PropertyRow, parse_row
from generators.types import COMPONENT_TYPES, ComponentType, StorageClass, Use

INTEGERS: Mapping[str, ComponentType] = MappingProxyType({name: COMPONENT_TYPES[name] for name in ("u32", "s32")})
"""The 32-bit integers."""

Rank = Literal[1, 2, 3, 4, 5]
"""Dimensions of a tensor."""


_WORKGROUP_BYTES = 8192

OPERANDS = ("source", "integer", "storage")
"""The parameters that ``OneTensor`` adds."""


@dataclass(frozen=True, kw_only=True)
class OneRow(Scoped):
    """The parameters of a case about the matrices of a property row."""

    row: PropertyRow = parameter("the property row", decode=parse_row, then=SCOPE)


@dataclass(frozen=True, kw_only=True)
class OneMatrix(Scoped):
    """The parameters of a case about matrices of one type."""

    component: ComponentType = parameter("the type of the matrix's elements", labels=COMPONENT_TYPES)
    use: Use = parameter("the use of the matrix", default="acc", labels=USES)
    shape: tuple[int, int] = parameter("rows and columns of the matrix", default="16x16", decode=parse_shape, then=SCOPE)

    @property
    def matrix_type(self) -> MatrixType:
        """The type of the matrix."""
        return MatrixType(self.component, self.scope, *self.shape, self.use)


@dataclass(frozen=True, kw_only=True)
class OneTensor(OneMatrix):
    """The parameters of a case that moves a matrix between a tensor and an array that stores its rows in order."""

    source: SOURCE_NAMES = parameter("where the operands of layouts and views come from", default="literal")
    integer: ComponentType = parameter("the type of these operands; offsets of slices are always s32", default="u32", labels=INTEGERS)
    storage: StorageClass = parameter("where the tensor is", default="storage_buffer", labels=STORAGE_CLASSES)

    def has_room(self, elements: int, most: int) -> bool:
        """Return whether the storage class has room for ``elements``: 8 KiB of workgroup memory, or ``most`` elements of a buffer."""
        return elements <= (_WORKGROUP_BYTES // self.component.bytes if self.storage is StorageClass.WORKGROUP else most)


@dataclass(frozen=True, kw_only=True)
class OnePointedTensor(OneTensor):
    """The parameters of a case in which the array of the tensor may have any pointee."""

    pointee: PointeeName = parameter("the type that the tensor's array is declared with", default="component")

    @property
    def pointee_fits(self) -> bool:
        """Whether the label is the only one for this pointee."""
        return self.pointee != "u32" or self.component is not COMPONENT_TYPES["u32"]

    @property
    def array_pointee(self) -> Pointee:
        """The pointee."""
        return pointee_of(self.pointee, self.component)
