"""Tensors in arrays, for families that address them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from generators.inputs.patterns import pattern_bits
from generators.layouts.placement import Target, stage_in, stage_out
from generators.program.builder import ProgramBuilder
from generators.program.memory import Array, Pointee
from generators.program.tensor_access import POINTER_ALIGNMENT
from generators.program.values import ScalarValue
from generators.types import ComponentType, StorageClass


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


def contents(array: Array, component: ComponentType, pattern: str, rng: np.random.Generator) -> np.ndarray:
    """Return contents of an input array: elements of ``component`` in a pattern, up to its last whole one; uint8."""
    count = array.bytes // component.bytes
    data = np.zeros(array.bytes, np.uint8)
    data[: count * component.bytes] = pattern_bits(pattern, component, count, rng).view(np.uint8)
    return data
