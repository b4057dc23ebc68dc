"""Tensors in arrays: their placement, the loads and stores of a program, and the contents of their arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from generators.inputs.patterns import pattern_bits, tame_bits
from generators.layouts.matrix_arrays import rounded_up
from generators.layouts.placement import Target, stage_in, stage_out
from generators.layouts.tensor_writer import LayoutStep
from generators.program.builder import ProgramBuilder
from generators.program.functions import Function
from generators.program.load_store import MemoryOperand
from generators.program.memory import Array, Pointee, Role
from generators.program.tensor_access import POINTER_ALIGNMENT, TensorLoad, TensorStore
from generators.program.values import Matrix, MatrixType, ScalarValue, TensorLayout, TensorView
from generators.types import ComponentType, StorageClass


@dataclass(frozen=True)
class Tensor(Target):
    """A tensor in an array: one for each scope instance, with gaps between them, or one for all.

    Attributes:
        builder: the builder of the program.
        component: the component type of its elements.
        first: index of the first tensor's first element in the array, counted in its pointee.
        pitch: distance from one instance's tensor to the next, in the same unit.
        sizes: the sizes of the dimensions of a tensor that all instances share.
        strides: between elements of each of its dimensions, in elements; the last one is 1.
    """

    builder: ProgramBuilder
    component: ComponentType
    first: int
    pitch: int = 0
    sizes: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()

    def begin(self, first: ScalarValue) -> ScalarValue:
        """Return the index of the first element of this instance's tensor; ``first`` is that index for the first instance."""
        if self.builder.instances == 1:
            return first
        return self.builder.offset(f"{self.array.name}_begin", first, self.builder.instance_index(), self.pitch)

    def load(
        self,
        name: str,
        type_: MatrixType,
        first: ScalarValue,
        before: Matrix,
        layout: TensorLayout,
        view: TensorView | None = None,
        memory: MemoryOperand | None = None,
        decode: Function | None = None,
        decode_vector: Function | None = None,
    ) -> Matrix:
        """Load a matrix from the tensor that begins at element ``first``; operands as in TensorLoad."""
        result = Matrix(name, type_)
        self.builder.add(TensorLoad(result, self.array, first, before, layout, view, memory, decode, decode_vector))
        return result

    def store(
        self,
        matrix: Matrix,
        first: ScalarValue,
        layout: TensorLayout,
        view: TensorView | None = None,
        memory: MemoryOperand | None = None,
    ) -> None:
        """Store ``matrix`` to the tensor that begins at element ``first``; operands as in TensorStore."""
        self.builder.add(TensorStore(matrix, self.array, first, layout, view, memory))

    @property
    def steps(self) -> list[LayoutStep]:
        """The steps that set the dimensions, and the strides unless they are the default ones."""
        steps: list[LayoutStep] = [("dimension", self.sizes)]
        if self.strides != row_major(self.sizes):
            steps.append(("stride", self.strides))
        return steps

    def contents(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return ``values``, of shape ``sizes``, as the bytes of the array, with finite random numbers around and between them."""
        bits = tame_bits(self.component, self.array.count, rng)
        steps = np.ix_(*(np.arange(size) * stride for size, stride in zip(self.sizes, self.strides, strict=True)))
        bits[self.first + sum(steps)] = np.ascontiguousarray(values).view(self.component.bits_dtype)
        return np.asarray(bits.view(np.uint8))


def row_major(sizes: Sequence[int], padded: bool = False, inner: int = 1, gap: int = 0) -> tuple[int, ...]:
    """Return row-major strides.

    Args:
        sizes: the sizes of the dimensions.
        padded: whether there are gaps between lines, which grow from dimension to dimension.
        inner: the innermost stride.
        gap: elements after each line of the innermost dimension, if there are no other gaps.
    """
    strides, last = [inner] * len(sizes), len(sizes) - 2
    for dimension in range(last, -1, -1):
        after = 1 + dimension if padded else gap if dimension == last else 0
        strides[dimension] = strides[dimension + 1] * sizes[dimension + 1] + after
    return tuple(strides)


def tensor_elements(sizes: Sequence[int], strides: Sequence[int]) -> int:
    """Return the number of elements in memory from the first element of a tensor to its last, both included."""
    return 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))


def tensor_array(
    builder: ProgramBuilder,
    name: str,
    component: ComponentType,
    elements: int,
    storage: StorageClass,
    output: bool,
    pointee: Pointee | None = None,
    lead: int = POINTER_ALIGNMENT,
) -> Tensor:
    """Declare an input, or an ``output``, with a tensor of ``elements`` elements for each scope instance.

    The first begins at least ``lead`` bytes after the array; ``finish`` brings an output to the host.
    """
    pointee = pointee or Pointee(component)
    # The smallest number of pointees that keeps the pointer's alignment.
    granule = math.lcm(POINTER_ALIGNMENT, pointee.bytes) // pointee.bytes
    first = -(-lead // (granule * pointee.bytes)) * granule
    pitch = rounded_up(-(-elements * component.bytes // pointee.bytes), granule) + granule
    length = first + pitch * builder.instances
    if output:
        target = stage_out(builder, name, pointee, length, storage)
        return Tensor(target.array, target.buffer, builder, component, first, pitch)
    array = stage_in(builder, name, pointee, length, storage)
    return Tensor(array, array, builder, component, first, pitch)


def shared_tensor(
    builder: ProgramBuilder, name: str, component: ComponentType, sizes: Sequence[int], gap: int = 0, role: Role = "input"
) -> Tensor:
    """Declare a tensor in a storage buffer that all scope instances share, with ``gap`` elements after each line."""
    strides = row_major(sizes, gap=gap)
    margin = POINTER_ALIGNMENT // component.bytes
    length = tensor_elements(sizes, strides) + 2 * margin
    array = builder.array(name, Pointee(component), length, StorageClass.STORAGE_BUFFER, role)
    return Tensor(array, array, builder, component, margin, 0, tuple(sizes), strides)


def pattern_contents(array: Array, component: ComponentType, pattern: str, rng: np.random.Generator) -> np.ndarray:
    """Return contents of an input array: elements of ``component`` in a pattern, up to its last whole one; uint8."""
    count = array.bytes // component.bytes
    data = np.zeros(array.bytes, np.uint8)
    data[: count * component.bytes] = pattern_bits(pattern, component, count, rng).view(np.uint8)
    return data
