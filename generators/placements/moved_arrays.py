"""Arrays whose matrices a placement moves: which arrays permit it, and where each element goes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from generators.program.control_flow import PerInvocation, Stated
from generators.program.functions import Call
from generators.program.load_store import MatrixLoad, MatrixStore, layout_value
from generators.program.memory import Array
from generators.program.operation import Operation
from generators.program.pointers import arrays_of
from generators.program.program import Program
from generators.program.scalars import ScalarArithmetic
from generators.program.tensor_access import POINTER_ALIGNMENT, TensorLoad, TensorStore, unit_bytes
from generators.program.values import Operand, ScalarValue
from generators.program.walking import regions
from generators.types import Layout, StorageClass

Access = MatrixLoad | MatrixStore | TensorLoad | TensorStore

BEYOND_16_BITS = 1 << 16
MOST_ALIGNMENT = 16
"""The strictest alignment of a matrix access in bytes."""

_ACCESSES = (MatrixLoad, MatrixStore, TensorLoad, TensorStore)
_BUFFERS = (StorageClass.STORAGE_BUFFER, StorageClass.PHYSICAL_STORAGE_BUFFER)
_BLOCK = 4093
"""Length in bytes of the pattern before and between moved matrices, a prime number: no two places that a defect mistakes for each other
have the same bytes."""


@dataclass(frozen=True)
class Moved:
    """An array whose matrices are moved.

    Attributes:
        array: the array, before.
        lead: elements before the first matrix if it is moved; 0 if a subcase never moves it.
        stride, wide: the distance between lines before and after, in elements; equal if lines stay where they are.
    """

    array: Array
    lead: int = 0
    stride: int = 1
    wide: int = 1

    @property
    def length(self) -> int:
        """The length of the array after."""
        return self.lead + self.at(self.array.count - 1) + 1

    @property
    def after(self) -> Array:
        """The array, after."""
        return replace(self.array, length=self.length)

    def at(self, index: int) -> int:
        """Return the index of an element after its line has been moved, without the lead."""
        return index // self.stride * self.wide + index % self.stride

    def contents(self, before: np.ndarray, lead: int, rng: np.random.Generator) -> np.ndarray:
        """Return the contents of the array after from those before, uint8, with ``lead`` elements before the first matrix."""
        size, count = self.array.pointee.bytes, self.array.count
        pattern, length = rng.integers(0, 256, _BLOCK, np.uint8), self.length * size
        data = np.tile(pattern, -(-length // _BLOCK))[:length]
        if self.wide == self.stride:
            data[lead * size :][: len(before)] = before
            return data
        index = np.arange(count)
        places = lead + index // self.stride * self.wide + index % self.stride
        data.reshape(-1, size)[places] = before.reshape(-1, size)
        return data


def accesses_by_array(program: Program) -> dict[Array, list[Access]]:
    """Return the accesses of each array in a buffer that only matrix and tensor accesses of the entry point name, so all their addresses
    can change together."""
    found: dict[Array, list[Access]] = {array: [] for array in program.arrays if _is_plain(array)}
    for operation, is_free in _operations(program.operations):
        for array in arrays_of(operation):
            if isinstance(operation, _ACCESSES) and is_free and not getattr(operation, "robust", False):
                found.get(array, []).append(operation)
            else:
                found.pop(array, None)
    aliased = {array.alias_of for array in program.used_arrays if array.alias_of is not None}
    return {array: each for array, each in found.items() if each and array not in aliased}


def _is_plain(array: Array) -> bool:
    special = array.opaque or array.windows or array.inner or array.descriptors or array.alias_of or array.is_untyped
    return not special and array.storage in _BUFFERS and isinstance(array.length, int) and array.array_stride is None


def _operations(operations: Sequence[Operation], is_free: bool = True) -> Iterator[tuple[Operation, bool]]:
    """Yield all operations, and whether each is code of the entry point whose effect nothing states."""
    for operation in operations:
        yield operation, is_free
        if isinstance(operation, Stated):
            yield operation.effect, False
        for region in regions(operation):
            yield from _operations(region, is_free and not isinstance(operation, Stated | Call | PerInvocation))


def line_bytes(access: MatrixLoad | MatrixStore) -> int:
    """Return the size of a row or column in memory."""
    type_ = access.result.type if isinstance(access, MatrixLoad) else access.matrix.type
    rows, columns = type_.shape
    return (columns if layout_value(access.layout) is Layout.ROW_MAJOR else rows) * type_.component.bytes


def granule(array: Array, accesses: Sequence[Access]) -> int:
    """Return the smallest number of elements that keeps the alignment of all accesses."""
    size, bytes_ = array.pointee.bytes, array.pointee.bytes
    for access in accesses:
        if access.memory is not None and access.memory.alignment is not None:
            bytes_ = math.lcm(bytes_, access.memory.alignment)
        if isinstance(access, TensorLoad | TensorStore):
            bytes_ = math.lcm(bytes_, POINTER_ALIGNMENT, unit_bytes(access) if unit_bytes(access) & (unit_bytes(access) - 1) == 0 else 1)
        else:
            # The smaller of 16 and the size of a line (KHR-ALIGN-01).
            bytes_ = math.lcm(bytes_, min(MOST_ALIGNMENT, line_bytes(access)))
    return bytes_ // size


def far(array: Array, unit: int) -> int:
    """Return a number of elements, a multiple of ``unit`` and no larger power of two, that 16 bits count neither in elements (of up to 4
    bytes) nor in bytes."""
    size = array.pointee.bytes
    beyond = BEYOND_16_BITS if size <= 4 else BEYOND_16_BITS // size
    return -(-beyond // unit) * unit + unit


def widened(array: Array, accesses: Sequence[Access], unit: int, sums: Mapping[str, ScalarArithmetic], most: int) -> Moved | None:
    """Return the array with a stride beyond 16 bits; None if it would be larger than ``most`` bytes, or its lines cannot be moved."""
    strides = {access.stride for access in accesses if isinstance(access, MatrixLoad | MatrixStore)}
    if len(strides) != 1 or any(isinstance(access, TensorLoad | TensorStore) for access in accesses):
        return None
    (stride,) = strides
    if not isinstance(stride, Operand) or stride.source != "literal" or not stride.value:
        return None
    size, own = array.pointee.bytes, stride.value
    for access in accesses:
        rest = rest_of(access.first, own, sums)
        assert isinstance(access, MatrixLoad | MatrixStore)
        if rest is None or rest * size + line_bytes(access) > own * size:
            return None
    for beyond in (BEYOND_16_BITS, BEYOND_16_BITS // size):
        # Cut to 16 bits, the stride differs from the distance between adjacent lines.
        wide = -(-(beyond + own + 1) // unit) * unit
        moved = Moved(array, 0, own, wide)
        if moved.length * size <= most:
            return moved
    return None


def rest_of(first: ScalarValue, stride: int, sums: Mapping[str, ScalarArithmetic]) -> int | None:
    """Return the place in its line of an element whose index ``first`` is a sum of literals and of products with a literal, of which the
    latter are whole lines; None if it is not such a sum."""
    if isinstance(first, Operand):
        return first.value % stride if first.source == "literal" and first.value is not None else None
    step = sums.get(first.name)
    if step is None:
        return None
    if step.operator == "add":
        left, right = rest_of(step.left, stride, sums), rest_of(step.right, stride, sums)
        # Only one term may begin inside a line: the sum of two could leave it.
        return None if left is None or right is None or (left and right) else left + right
    if step.operator == "multiply":
        factors = [one.value for one in (step.left, step.right) if isinstance(one, Operand) and one.source == "literal"]
        return 0 if len(factors) == 1 and factors[0] is not None and factors[0] % stride == 0 else None
    return None
