"""Arrays of single invocations in a buffer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from generators.program.array_conversion import ConstructCoopMat, ExtractCoopMat
from generators.program.builder import ProgramBuilder
from generators.program.composites import CompositeConstruct, CompositeExtract
from generators.program.memory import Array, Pointee, Role
from generators.program.values import ArrayType, ArrayValue, Matrix, MatrixType, ScalarValue, Value, extent
from generators.types import ComponentType, StorageClass, Use


@dataclass(frozen=True)
class InvocationArrays:
    """Arrays of one type in a buffer, one after another.

    Attributes:
        builder: the builder of the program.
        array: the buffer.
        type: the type of an array as a value.
    """

    builder: ProgramBuilder
    array: Array
    type: ArrayType

    @property
    def element(self) -> ComponentType:
        """The type of the elements."""
        return self.array.pointee.component

    @property
    def length(self) -> int:
        """Elements of an array."""
        return extent(self.type.length)

    def load(self, name: str, slot: ScalarValue) -> ArrayValue:
        """Load the array in ``slot`` (u32), element by element."""
        builder, result = self.builder, Value(name, self.type)
        parts = [builder.read_scalar(f"{name}_{i}", self.array, at) for i, at in enumerate(self._places(name, slot))]
        builder.add(CompositeConstruct(result, tuple(parts)))
        return result

    def store(self, value: ArrayValue, slot: ScalarValue) -> None:
        """Store the array to ``slot`` (u32)."""
        name = f"{value.name}_out"
        for i, at in enumerate(self._places(name, slot)):
            part = self.builder.result_of(CompositeExtract(Value(f"{name}_{i}", self.element), value, (i,)))
            self.builder.write(self.array, at, part)

    def _places(self, name: str, slot: ScalarValue) -> list[ScalarValue]:
        builder = self.builder
        first = builder.arithmetic(f"{name}_begin", "multiply", slot, builder.literal(self.length))
        return [first, *(builder.arithmetic(f"{name}_at_{i}", "add", first, builder.literal(i)) for i in range(1, self.length))]


def invocation_arrays(builder: ProgramBuilder, name: str, type_: ArrayType, slots: int, role: Role) -> InvocationArrays:
    """Declare a buffer of ``slots`` arrays of scalars."""
    assert isinstance(type_.element, ComponentType), "arrays of invocations have scalars"
    array = builder.array(name, Pointee(type_.element), slots * extent(type_.length), StorageClass.STORAGE_BUFFER, role)
    return InvocationArrays(builder, array, type_)


def construct(builder: ProgramBuilder, name: str, type_: MatrixType, source: ArrayValue) -> Matrix:
    """Add the construction of a matrix from the arrays of its invocations."""
    return builder.result_of(ConstructCoopMat(Value(name, type_), source))


def extract(builder: ProgramBuilder, name: str, matrix: Matrix, type_: ArrayType) -> ArrayValue:
    """Add the extraction of a matrix's arrays."""
    return builder.result_of(ExtractCoopMat(Value(name, type_), matrix))


def packed(lines: np.ndarray, element: ComponentType, component: ComponentType, slots: int) -> np.ndarray:
    """Return the contents of a buffer: an array for each line, and arrays of one bits for further invocations.

    Args:
        lines: bits of the components, (matrices, lines, components of a line).
        element: type of the elements; each has the bits of one or more components, with the lower index in the lower bits.
        component: the component type of the matrices.
        slots: invocations of a matrix.
    """
    matrices, count, line = lines.shape
    arrays = np.full((matrices, slots, line * component.bytes), 0xFF, np.uint8)
    arrays[:, :count] = np.ascontiguousarray(lines.astype(component.bits_dtype)).view(np.uint8)
    assert arrays.shape[2] % element.bytes == 0, "a line has whole elements"
    return arrays.reshape(-1)


def lines_of_use(values: np.ndarray, use: Use) -> np.ndarray:
    """Return the rows of matrices, (matrices, rows, columns), or the columns of a B, in order: (matrices, lines, components)."""
    return values.swapaxes(-1, -2) if use is Use.B else values
