"""DecodeFunc and DecodeVectorFunc of OpCooperativeMatrixLoadTensorNV (SPV_NV_cooperative_matrix2, Tensor Layout and View;
SPV_NV_cooperative_matrix_decode_vector, 3.49.8).

This device calls a function once for each element inside of the tensor. It does not call it for elements that the view clips, which keep
the object's value, or for elements that get the clamp value. A device may call it for these, but must not use the results (F-TA-17).

A device may also choose which groups of neighbours the vector function decodes (DV-SEM-02). It may only decode groups whose elements are
all in the matrix (F-DV-2). This device chooses by a seed for each load and scope instance: all groups, none, or each with an even chance.
So runs with different seeds show a difference between the two functions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cts.embedded.diagnostics import UndefinedUse, Violation
from cts.embedded.faults import replaceable
from cts.embedded.instructions.matrices.callbacks import Callback, Lanes
from cts.embedded.instructions.tensors.tensor_addressing import Layout, Places
from cts.embedded.machine.pointers import AddressPointer
from cts.embedded.memory.memory import Memory
from cts.embedded.module.translation import Translation
from cts.embedded.types.shapes import is_int32
from cts.embedded.types.spirv_types import (
    Array,
    MatrixType,
    PointerType,
    Struct,
    Type,
    Vector,
    alignment_of,
    has_no_bytes,
    size_of,
    type_text,
)
from cts.embedded.types.values import Undefined, Value
from generators.spirv.enumerants import Op, StorageClass

_WHAT = "OpCooperativeMatrixLoadTensorNV: DecodeFunc"
_VECTOR = "OpCooperativeMatrixLoadTensorNV: DecodeVectorFunc"
_BYTES_LIMIT = 1 << 31
_WIDTHS = (2, 4, 8)


_SHARES = (1.0, 0.0, 0.5)
"""Which of the groups the vector function decodes."""


@dataclass(frozen=True)
class _Function:
    """A decode function.

    Attributes:
        size: bytes of the pointee of its first parameter.
        width: number of components of its result (1: a scalar).
    """

    callback: Callback
    size: int
    width: int


@dataclass(frozen=True)
class _Elements:
    """Elements of one scope instance to decode, or the first elements of groups.

    Attributes:
        instance: number of the scope instance.
        start: the address that its pointer points to.
        index: number of each element's block, counted from the pointer: int64 of shape (elements,).
        block, inside: blockCoord and coordInBlock, int64 of shape (dimensions, elements).
    """

    instance: int
    start: int
    index: np.ndarray
    block: np.ndarray
    inside: np.ndarray

    def some(self, which: np.ndarray) -> _Elements:
        """Return the elements that a mask or an array of indices selects."""
        return _Elements(self.instance, self.start, self.index[which], self.block[:, which], self.inside[:, which])


class Decode:
    """The decode functions of a load, checked.

    Args:
        scalar, vector: ids of the operands DecodeFunc and DecodeVectorFunc; ``vector`` is 0 if there is none.
        dim: dimensions of the tensor layout.
        storage: the storage class of the operand Pointer.

    Raises:
        Violation: a static rule is broken.
    """

    def __init__(self, translation: Translation, scalar: int, vector: int, matrix: MatrixType, dim: int, storage: StorageClass) -> None:
        if not scalar:
            raise Violation("DV-OP-02", f"{_VECTOR} without a DecodeFunc")
        if storage not in (StorageClass.PhysicalStorageBuffer, StorageClass.StorageBuffer):
            raise Violation("CM2-DEC-07", f"{_WHAT} with a pointer to {storage.name} storage")
        self._translation, self._matrix = translation, matrix
        self._site = translation.index
        self._chosen_groups = translation.performing(chosen_groups)
        self._places_in_groups = translation.performing(places_in_groups)
        self._scalar = self._function(scalar, dim, _WHAT, "CM2-DEC-01", "CM2-DEC-02", "CM2-DEC-03")
        self._vector = self._function(vector, dim, _VECTOR, "DV-FN-01", "DV-FN-03", "DV-FN-03") if vector else None

    def _function(self, id_: int, dim: int, what: str, result_rule: str, pointer_rule: str, array_rule: str) -> _Function:
        callback = Callback(self._translation, Op.CooperativeMatrixLoadTensorNV, self._matrix, id_, result_rule, what)
        type_ = callback.type
        width = 1
        if what is _VECTOR:
            width = type_.result.count if isinstance(type_.result, Vector) else 0
            if not isinstance(type_.result, Vector) or type_.result.element != self._matrix.number:
                raise Violation(result_rule, f"{what} does not return a vector of the component type of a {self._matrix}")
            if width not in _WIDTHS:
                raise Violation("DV-FN-02", f"{what} returns {width} components, not 2, 4 or 8")
        elif type_.result != self._matrix.number:
            raise Violation(result_rule, f"{what} does not return the component type of a {self._matrix}")
        if len(type_.parameters) != 3:
            raise Violation(array_rule, f"{what} has {len(type_.parameters)} parameters, not a pointer and two arrays")
        pointer, *coordinates = type_.parameters
        if not isinstance(pointer, PointerType) or pointer.storage is not StorageClass.PhysicalStorageBuffer:
            raise Violation(pointer_rule, f"{what}: the first parameter is not a pointer to PhysicalStorageBuffer storage")
        if not all(isinstance(c, Array) and is_int32(c.element) and c.length == dim for c in coordinates):
            raise Violation(array_rule, f"{what}: the second and third parameters are not arrays of {dim} 32-bit integers")
        pointee = self._translation.types[pointer.pointee]
        if has_no_bytes(pointee):
            raise Violation(pointer_rule, f"{what}: the first parameter points to a {type_text(pointee)}, which has no bytes")
        if _has_runtime_array(pointee) or size_of(pointee) % alignment_of(pointee):
            self._translation.machine.forbid("F-CM2-6", f"{what}: it is not clear how many bytes its first parameter points to")
        return _Function(callback, size_of(pointee), width)

    def elements(self, instance: int, memory: Memory, start: int, layout: Layout, places: Places) -> np.ndarray:
        """Return the decoded elements that are in the tensor.

        Args:
            instance: number of the scope instance that loads.
            memory, start: the memory into which the operand Pointer points, and the byte offset in it.
            layout, places: where the elements are; at least one is in the tensor.

        Returns:
            An array of shape (elements,) of the component's dtype, in row-major order.

        Raises:
            Violation: undefined behaviour.
        """
        reached = places.reached
        found = _Elements(
            instance,
            self._address(memory) + start,
            places.index[reached],
            places.block_coord[:, reached],
            places.coord_in_block[:, reached],
        )
        decoded = np.zeros(found.index.size, self._matrix.number.dtype)
        rest = np.ones(decoded.size, bool)
        if self._vector is not None:
            if layout.block_size[-1] % self._vector.width:
                text = f"block size {layout.block_size[-1]} in the last dimension is not a multiple of {self._vector.width}"
                self._translation.machine.forbid("DV-SEM-07", f"{_VECTOR}: {text}")
            rest = self._decode_groups(self._vector, found, decoded)
        if rest.any():
            decoded[rest] = self._call(self._scalar, found.some(rest))
        return decoded

    def _decode_groups(self, vector: _Function, elements: _Elements, decoded: np.ndarray) -> np.ndarray:
        """Write the results of the vector function to ``decoded``. Return a bool array of the elements that remain."""
        quotient, component = self._places_in_groups(elements.inside[-1], vector.width)
        key = np.vstack([elements.block, elements.inside[:-1], quotient])
        _, first, group = np.unique(key, axis=1, return_index=True, return_inverse=True)
        group = group.ravel()
        present = np.zeros((first.size, vector.width), bool)
        present[group, component] = True
        chosen = present.all(axis=1) & self._chosen_groups(self._translation.settings.choices, self._site, elements.instance, first.size)
        if not chosen.any():
            return np.ones(group.size, bool)
        # The function gets the arguments for the lowest element. The elements of a group differ only in the last coordinate.
        lowest = elements.some(first[chosen])
        lowest.inside[-1] -= component[first[chosen]]
        parts = self._call(vector, lowest)
        taken = chosen[group]
        rank = np.cumsum(chosen) - 1
        decoded[taken] = np.stack([np.broadcast_to(part, lowest.index.shape) for part in parts])[component[taken], rank[group[taken]]]
        return ~taken

    def _call(self, function: _Function, elements: _Elements) -> Value:
        distance = elements.index * function.size
        what = function.callback.what
        if int(distance.max()) >= _BYTES_LIMIT:
            self._translation.machine.forbid("F-TA-7", f"{what}: a block at byte {int(distance.max())} from the pointer, beyond 2^31")
        pointer = AddressPointer(self._translation.space, elements.start + distance)
        coordinates = [tuple(c.astype(np.uint32)) for c in (elements.block, elements.inside)]
        lanes = Lanes(self._matrix.scope, np.full(elements.index.size, elements.instance))
        found = function.callback.call(lanes, [pointer, *coordinates])
        if any(isinstance(part, Undefined) for part in (found if isinstance(found, tuple) else (found,))):
            raise UndefinedUse(f"{what} returns an undefined value")
        return found

    def _address(self, memory: Memory) -> int:
        """Return the address of a memory. A buffer without an address gets one here (F-CM2-7)."""
        space = self._translation.space
        try:
            found = space.find(memory.base) is memory
        except Violation:
            found = False
        if not found:
            space.add(memory)
        return memory.base


@replaceable
def chosen_groups(seed: int, site: int, instance: int, count: int) -> np.ndarray:
    """Return a bool array: which of ``count`` groups the vector function decodes. ``site`` is the number of the load's instruction."""
    rng = np.random.default_rng([seed, site, instance])
    share = _SHARES[int(rng.integers(len(_SHARES)))]
    return rng.random(count) < share


@replaceable
def places_in_groups(inside: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Split last coordinates in the block into the number of the group along that dimension, and the component of the vector."""
    quotient, component = np.divmod(inside, width)
    return quotient, component


def _has_runtime_array(type_: Type) -> bool:
    match type_:
        case Array():
            return type_.length is None or _has_runtime_array(type_.element)
        case Struct():
            return any(map(_has_runtime_array, type_.members))
        case _:
            return False
