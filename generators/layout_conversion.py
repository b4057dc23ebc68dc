"""Conversions of matrices between layouts and component types, without a shader (Vulkan, "Cooperative Vectors")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from generators.types import ComponentType, ConversionCommand, VectorMatrixLayout

HOST_COMMAND = "vkConvertCooperativeVectorMatrixNV"
DEVICE_COMMAND = "vkCmdConvertCooperativeVectorMatrixNV"

COMMANDS: Mapping[ConversionCommand, str] = MappingProxyType({"host": HOST_COMMAND, "device": DEVICE_COMMAND})
"""Vulkan's names of the commands."""

Capacity = Literal["exact", "generous", "short"]
"""The destination size that a call states, relative to the result of a size query: equal, larger, or one byte less."""

Between = Literal["nothing", "zeros", "doubled"]
"""A change of the first matrix of an optimal layout before it is converted again: none, zeros replace its bytes, or each of its
elements is doubled."""

FLOAT8 = frozenset({"e4m3", "e5m2"})


@dataclass(frozen=True)
class MatrixForm:
    """The representation of a matrix in memory.

    Attributes:
        component: type of its elements.
        layout: order of its elements.
        stride: bytes from the start of a row or column to the next one, in row-major and column-major layout; 0 in an optimal layout.
    """

    component: ComponentType
    layout: VectorMatrixLayout
    stride: int = 0

    def __str__(self) -> str:
        stride = "" if self.layout.is_optimal else f", stride {self.stride}"
        return f"{self.component.name} {self.layout.name.lower().replace('_', '-')}{stride}"

    def line(self, rows: int, columns: int) -> int:
        """Return the bytes of the elements of a row (row-major) or column (column-major)."""
        return (columns if self.layout is VectorMatrixLayout.ROW_MAJOR else rows) * self.component.bytes

    def least_bytes(self, rows: int, columns: int) -> int:
        """Return the bytes from the first element of a row-major or column-major matrix to the end of the last one."""
        lines = rows if self.layout is VectorMatrixLayout.ROW_MAJOR else columns
        return (lines - 1) * self.stride + self.line(rows, columns)

    def whole_bytes(self, rows: int, columns: int) -> int:
        """Return the bytes of a row-major or column-major matrix whose last row or column has its padding."""
        return (rows if self.layout is VectorMatrixLayout.ROW_MAJOR else columns) * self.stride

    def offsets(self, rows: int, columns: int) -> np.ndarray:
        """Return the byte offset of each element of a row-major or column-major matrix, int64 of shape (rows, columns)."""
        row, column = np.arange(rows, dtype=np.int64)[:, None], np.arange(columns, dtype=np.int64)[None, :]
        along, across = (row, column) if self.layout is VectorMatrixLayout.ROW_MAJOR else (column, row)
        return along * self.stride + across * self.component.bytes


def may_convert(source: ComponentType, destination: ComponentType) -> bool:
    """Return whether a conversion may have these component types (VUID-VkConvertCooperativeVectorMatrixInfoNV-srcComponentType-10081)."""
    if source is destination:
        return True
    wide, narrow = (source, destination) if source.bytes > destination.bytes else (destination, source)
    return wide.name in ("f32", "f16") and narrow.is_float and narrow.bytes < wide.bytes


@dataclass(frozen=True)
class LayoutConversion:
    """A case: matrices that are converted from form to form, at least twice. The host can read the last form.

    Attributes:
        rows, columns: the size of each matrix.
        forms: the forms of the given matrices and of the results of each conversion. The first and the last are row-major or column-major.
        commands: the command of each conversion.
        data: bits of the elements of the given matrices, unsigned, (matrices, rows, columns). One device command converts all of them; a
            host command converts one.
        capacity: see Capacity.
        between: see Between.
    """

    rows: int
    columns: int
    forms: tuple[MatrixForm, ...]
    commands: tuple[ConversionCommand, ...]
    data: np.ndarray
    capacity: Capacity = "exact"
    between: Between = "nothing"

    @property
    def count(self) -> int:
        """Return the number of matrices."""
        return len(self.data)
