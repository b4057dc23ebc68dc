"""Whole matrices and whole tensors in memory, for families that address tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from generators.inputs.patterns import index_coded, pattern_bits
from generators.layouts.placement import Target, stage_in, stage_out
from generators.program.builder import ProgramBuilder
from generators.program.memory import Array, Pointee
from generators.program.tensor_access import POINTER_ALIGNMENT
from generators.program.values import Matrix, MatrixType, ScalarValue
from generators.types import ComponentType, Layout, StorageClass


@dataclass(frozen=True)
class Tensor:
    """A tensor for each scope instance, one after the other with gaps between.

    Attributes:
        array: that has them.
        component: of their elements.
        first: element of the array, counted in its pointee, at which the first instance's tensor begins.
        pitch: from one instance's tensor to the next, in the same unit.
    """

    array: Array
    component: ComponentType
    first: int
    pitch: int

    def begin(self, builder: ProgramBuilder, first: ScalarValue) -> ScalarValue:
        """Return the element at which the tensor of this instance begins; ``first`` is the one of the first instance."""
        if builder.instances == 1:
            return first
        return builder.offset(f"{self.array.name}_begin", first, builder.instance_index(), self.pitch)


def tensor_elements(dimensions: Sequence[int], strides: Sequence[int]) -> int:
    """Return the elements of memory from the first element of a tensor to its last, both included."""
    return 1 + sum((size - 1) * stride for size, stride in zip(dimensions, strides, strict=True))


def _granule(pointee: Pointee) -> int:
    """Return the least number of pointees that keeps the pointer's alignment."""
    return math.lcm(POINTER_ALIGNMENT, pointee.bytes) // pointee.bytes


def tensor_in(
    builder: ProgramBuilder,
    name: str,
    component: ComponentType,
    elements: int,
    storage: StorageClass,
    pointee: Pointee | None = None,
    lead: int = POINTER_ALIGNMENT,
) -> Tensor:
    """Declare an input of tensors of ``elements`` elements each, the first at least ``lead`` bytes after the array's beginning."""
    extent = _extent(builder, component, elements, pointee or Pointee(component), lead)
    array = stage_in(builder, name, extent.pointee, extent.length, storage)
    return Tensor(array, component, extent.first, extent.pitch)


def tensor_out(
    builder: ProgramBuilder,
    name: str,
    component: ComponentType,
    elements: int,
    storage: StorageClass,
    pointee: Pointee | None = None,
    lead: int = POINTER_ALIGNMENT,
) -> tuple[Tensor, Target]:
    """Declare an output of tensors of ``elements`` elements each, and return how it gets to the host; ``lead`` as for an input."""
    extent = _extent(builder, component, elements, pointee or Pointee(component), lead)
    target = stage_out(builder, name, extent.pointee, extent.length, storage)
    return Tensor(target.array, component, extent.first, extent.pitch), target


@dataclass(frozen=True)
class _Extent:
    """Where tensors are in an array of ``length`` pointees; ``first`` and ``pitch`` as a Tensor has them."""

    pointee: Pointee
    first: int
    pitch: int
    length: int


def _extent(builder: ProgramBuilder, component: ComponentType, elements: int, pointee: Pointee, lead: int) -> _Extent:
    granule = _granule(pointee)
    first = -(-lead // (granule * pointee.bytes)) * granule
    size = -(-elements * component.bytes // pointee.bytes)
    pitch = (-(-size // granule) + 1) * granule
    return _Extent(pointee, first, pitch, first + pitch * builder.instances)


def matrix_in(builder: ProgramBuilder, name: str, type_: MatrixType) -> Matrix:
    """Load a matrix from an input of its own, for each scope instance another one."""
    stride, pitch = _stride_and_pitch(type_)
    array = builder.array(name, Pointee(type_.component), pitch * builder.instances, StorageClass.STORAGE_BUFFER, "input")
    return builder.load(f"{name}_matrix", type_, array, _matrix_begin(builder, name, pitch), builder.literal(stride), Layout.ROW_MAJOR)


def matrix_out(builder: ProgramBuilder, name: str, matrix: Matrix) -> None:
    """Store a matrix to an output of its own, for each scope instance at another element."""
    stride, pitch = _stride_and_pitch(matrix.type)
    array = builder.array(name, Pointee(matrix.type.component), pitch * builder.instances, StorageClass.STORAGE_BUFFER, "output")
    builder.store(matrix, array, _matrix_begin(builder, name, pitch), builder.literal(stride), Layout.ROW_MAJOR)


def _stride_and_pitch(type_: MatrixType) -> tuple[int, int]:
    """Return stride and pitch: rows with a gap of 16 bytes or more, aligned as a plain access needs."""
    rows, columns = type_.shape
    granule = POINTER_ALIGNMENT // type_.component.bytes
    stride = (-(-columns // granule) + 1) * granule
    return stride, rows * stride


def _matrix_begin(builder: ProgramBuilder, name: str, pitch: int) -> ScalarValue:
    zero = builder.literal(0)
    return zero if builder.instances == 1 else builder.offset(f"{name}_begin", zero, builder.instance_index(), pitch)


def contents(array: Array, component: ComponentType, pattern: str, rng: np.random.Generator) -> np.ndarray:
    """Return contents of an input array: elements of ``component`` in a pattern, up to its last whole one; uint8."""
    count = array.bytes // component.bytes
    data = np.zeros(array.bytes, np.uint8)
    data[: count * component.bytes] = pattern_bits(pattern, component, count, rng).view(np.uint8)
    return data


def matrix_contents(array: Array, type_: MatrixType, values: np.ndarray) -> np.ndarray:
    """Return contents of an array of ``matrix_in`` with the matrices ``values``: uint8.

    Args:
        array: of the input.
        type_: of the matrices.
        values: the component's dtype, (instances, rows, columns). Between the rows are bits that name their positions.
    """
    stride, pitch = _stride_and_pitch(type_)
    bits = index_coded(type_.component, array.count)
    lines = bits.reshape(len(values), pitch // stride, stride)
    lines[:, :, : values.shape[2]] = np.ascontiguousarray(values).view(type_.component.bits_dtype)
    return bits.view(np.uint8)
