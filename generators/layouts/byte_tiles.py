"""Matrices in arrays, placed by bytes: a stride need not be a whole number of array elements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from generators.layouts.matrix_arrays import ALIGNMENT, lines_of, rounded_up
from generators.program.builder import ProgramBuilder
from generators.program.memory import Array, Pointee
from generators.program.values import MatrixType, Operand, ScalarValue
from generators.types import Layout

UNIT = 64
"""Alignment of every matrix in bytes, a multiple of the size of all pointees."""


@dataclass(frozen=True)
class ByteTiles:
    """Equal matrices in an array, one after another.

    Attributes:
        type: the type of each matrix.
        layout: the layout of each matrix. A line is a row, or a column if the matrix is column-major.
        padding: padding after each line, in units of the minimum alignment.
        instances: scope instances that have matrices.
        steps: matrices of each instance.
    """

    type: MatrixType
    layout: Layout
    padding: int = 0
    instances: int = 1
    steps: int = 1

    @property
    def line(self) -> int:
        """Size of a line in bytes."""
        return lines_of(self.type.shape, self.layout)[1] * self.type.component.bytes

    @property
    def alignment(self) -> int:
        """Required alignment of the stride in bytes (KHR-ALIGN-01)."""
        return min(ALIGNMENT, self.line)

    @property
    def stride(self) -> int:
        """Distance from one line to the next, in bytes."""
        return rounded_up(self.line, self.alignment) + self.padding * self.alignment

    @property
    def pitch(self) -> int:
        """Distance from one matrix to the next, in bytes."""
        lines = lines_of(self.type.shape, self.layout)[0]
        return rounded_up(self.stride * (lines - 1) + self.line, UNIT) + UNIT

    @property
    def bytes(self) -> int:
        """The size of the array."""
        return UNIT + self.pitch * self.instances * self.steps

    def length(self, pointee: Pointee) -> int:
        """Return the length of the array in elements of ``pointee``."""
        return self.bytes // pointee.bytes

    def first(self, builder: ProgramBuilder, name: str, array: Array, step: int = 0) -> ScalarValue:
        """Return the index of the first element of this scope instance's matrix in ``array``; names of computed values begin with
        ``name``."""
        unit = array.pointee.bytes
        begin = builder.literal((UNIT + step * self.pitch) // unit)
        if self.instances == 1:
            return begin
        return builder.offset(f"{name}_first", begin, builder.instance_index(), self.pitch * self.steps // unit)

    def stride_of(self, array: Array) -> int:
        """Return the stride in the unit of accesses to ``array``."""
        return self.stride // array.stride_bytes

    def stride_operand(self, builder: ProgramBuilder, array: Array) -> Operand:
        """Return the stride of accesses to ``array`` as a literal."""
        return builder.literal(self.stride_of(array))

    def contents(self, bits: np.ndarray) -> np.ndarray:
        """Return contents of an array, uint8, from ``bits`` of at least as many bytes."""
        return np.ascontiguousarray(bits).view(np.uint8)[: self.bytes].copy()
