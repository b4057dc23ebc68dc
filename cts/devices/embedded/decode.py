"""DecodeFunc of OpCooperativeMatrixLoadTensorNV (SPV_NV_cooperative_matrix2, 3.X Tensor Layout and View).

The function is called once for each element that lies in the tensor. It is not called for elements that the view clips, which keep the
object's value, nor for those that get the clamp value: whether a device calls it for those is free, and nobody looks at what it returns
(F-TA-17).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cts.devices.embedded.callbacks import Callback, Lanes
from cts.devices.embedded.diagnostics import UndefinedUse, Violation
from cts.devices.embedded.memory import Memory
from cts.devices.embedded.pointers import AddressPointer
from cts.devices.embedded.spirv_types import Array, MatrixType, PointerType, Struct, Type, alignment_of, size_of
from cts.devices.embedded.tensor_addressing import Places
from cts.devices.embedded.tensor_types import is_int32
from cts.devices.embedded.translation import Translation
from cts.devices.embedded.values import Undefined
from generators.spirv.enumerants import Capability, StorageClass

_WHAT = "OpCooperativeMatrixLoadTensorNV: DecodeFunc"
_BYTES_LIMIT = 1 << 31


@dataclass(frozen=True)
class InstancePlaces:
    """What one instance of the scope loads: ``places``, from byte ``start`` of ``memory``."""

    instance: int
    memory: Memory
    start: int
    places: Places


class Decode:
    """A decode function, checked.

    Args:
        id_: of the operand DecodeFunc.
        dim: dimensions of the tensor layout.
        storage: of the operand Pointer.

    Raises:
        Violation: a static rule is broken.
    """

    def __init__(self, translation: Translation, id_: int, matrix: MatrixType, dim: int, storage: StorageClass) -> None:
        if Capability.CooperativeMatrixBlockLoadsNV not in translation.capabilities:
            raise Violation("CM2-CAP-05", f"{_WHAT} without the capability CooperativeMatrixBlockLoadsNV")
        if storage not in (StorageClass.PhysicalStorageBuffer, StorageClass.StorageBuffer):
            raise Violation("CM2-DEC-07", f"{_WHAT} with a pointer to {storage.name} storage")
        self._translation, self._matrix = translation, matrix
        self._callback = Callback(translation, id_, "CM2-DEC-01", _WHAT)
        self._size = self._check(dim)

    def _check(self, dim: int) -> int:
        """Bytes of what the first parameter points to."""
        type_ = self._callback.type
        if type_.result != self._matrix.number:
            raise Violation("CM2-DEC-01", f"{_WHAT} does not return the component type of a {self._matrix}")
        if len(type_.parameters) != 3:
            raise Violation("CM2-DEC-03", f"{_WHAT} has {len(type_.parameters)} parameters, not a pointer and two arrays")
        pointer, *coordinates = type_.parameters
        if not isinstance(pointer, PointerType) or pointer.storage is not StorageClass.PhysicalStorageBuffer:
            raise Violation("CM2-DEC-02", f"{_WHAT}: the first parameter is not a pointer to PhysicalStorageBuffer storage")
        if not all(isinstance(c, Array) and is_int32(c.element) and c.length == dim for c in coordinates):
            raise Violation("CM2-DEC-03", f"{_WHAT}: the second and third parameters are not arrays of {dim} 32-bit integers")
        pointee = self._translation.types[pointer.pointee]
        size = size_of(pointee)
        if _has_runtime_array(pointee) or size % alignment_of(pointee):
            self._translation.machine.forbid("F-CM2-6", f"{_WHAT}: how many bytes its first parameter points to is not clear")
        return size

    def fill(self, result: np.ndarray, asked: Sequence[InstancePlaces]) -> None:
        """Calls the function for the elements of ``asked`` that lie in the tensor, and writes what it returns to ``result``, of shape
        (instances, rows, columns).

        Raises:
            Violation: undefined behaviour.
        """
        instances = np.repeat([a.instance for a in asked], [int(a.places.reached.sum()) for a in asked])
        if not instances.size:
            return
        starts = np.repeat([self._address(a) for a in asked], [int(a.places.reached.sum()) for a in asked])
        distance = np.concatenate([a.places.index[a.places.reached] for a in asked]) * self._size
        if int(distance.max()) >= _BYTES_LIMIT:
            self._translation.machine.forbid("F-TA-7", f"{_WHAT}: a block at byte {int(distance.max())} from the pointer, beyond 2^31")
        pointer = AddressPointer(self._translation.space, starts + distance)
        block, inside = (
            tuple(np.concatenate([coord[:, a.places.reached] for coord, a in zip(coords, asked, strict=True)], axis=1).astype(np.uint32))
            for coords in ([a.places.block_coord for a in asked], [a.places.coord_in_block for a in asked])
        )
        found = self._callback.call(Lanes(self._matrix.scope, instances), [pointer, block, inside])
        if isinstance(found, Undefined):
            raise UndefinedUse(f"{_WHAT} returns an undefined value")
        decoded = np.broadcast_to(found, instances.shape)
        for a in asked:
            result[a.instance][a.places.reached] = decoded[instances == a.instance]

    def _address(self, asked: InstancePlaces) -> int:
        """The address of the pointer. A buffer that has none for the application gets one here (F-CM2-7)."""
        space, memory = self._translation.space, asked.memory
        try:
            found = space.find(memory.base) is memory
        except Violation:
            found = False
        if not found:
            space.add(memory)
        return memory.base + asked.start


def _has_runtime_array(type_: Type) -> bool:
    match type_:
        case Array():
            return type_.length is None or _has_runtime_array(type_.element)
        case Struct():
            return any(map(_has_runtime_array, type_.members))
        case _:
            return False
