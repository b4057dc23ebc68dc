"""Cooperative vectors of invocations in an array."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from generators.errors import GeneratorError, Rule
from generators.layouts.inner_arrays import InnerArrays
from generators.program.builder import ProgramBuilder
from generators.program.cooperative_vectors import VECTOR_ALIGNMENT
from generators.program.memory import Array, Pointee, Role
from generators.program.values import CooperativeVectorType, Scalar, ScalarValue
from generators.types import StorageClass


@dataclass(frozen=True)
class VectorArray:
    """Vectors of one type in an array, each in its own slot: first the vector, then bytes that no access touches.

    Attributes:
        type: the type of the vectors.
        slots: number of slots.
        first: bytes before the first slot, a multiple of 16.
        guard: the minimum number of bytes after each vector; a slot is a multiple of 16 bytes.
    """

    type: CooperativeVectorType
    slots: int
    first: int = VECTOR_ALIGNMENT
    guard: int = VECTOR_ALIGNMENT

    def __post_init__(self) -> None:
        if self.first % VECTOR_ALIGNMENT:
            raise GeneratorError(Rule.MISALIGNED, f"the first slot is at byte {self.first}; give a multiple of {VECTOR_ALIGNMENT}")

    @property
    def pitch(self) -> int:
        """Distance from a slot to the next, in bytes."""
        return -(-(self.type.bytes + self.guard) // VECTOR_ALIGNMENT) * VECTOR_ALIGNMENT

    @property
    def bytes(self) -> int:
        """Size of the array in bytes."""
        return self.first + self.slots * self.pitch

    def declare(
        self,
        builder: ProgramBuilder,
        name: str,
        role: Role,
        storage: StorageClass = StorageClass.STORAGE_BUFFER,
        pointee: Pointee | None = None,
        array_stride: int | None = None,
        inner: InnerArrays | None = None,
    ) -> Array:
        """Declare the array; its elements have the component type unless ``pointee`` is given, and inner arrays contain its vectors if
        ``inner`` is."""
        element = Pointee(self.type.component) if pointee is None else pointee
        within = None if inner is None else inner.declared(self.bytes, self.pitch, element.bytes)
        return builder.array(name, element, self.bytes // element.bytes, storage, role, array_stride, inner=within)

    def offset(self, builder: ProgramBuilder, name: str, slot: ScalarValue) -> Scalar:
        """Return the byte offset of slot ``slot`` (u32)."""
        return builder.offset(name, builder.literal(self.first), slot, self.pitch)

    def pack(self, vectors: np.ndarray, around: int = 0xA5) -> np.ndarray:
        """Return the contents of the array, uint8.

        Args:
            vectors: the components, (slots, components), of the component's dtype or of bits of its width.
            around: the value of all other bytes.
        """
        contents = np.full(self.bytes, around, np.uint8)
        data = np.ascontiguousarray(vectors).view(np.uint8).reshape(self.slots, self.type.bytes)
        contents[self.first :].reshape(self.slots, self.pitch)[:, : self.type.bytes] = data
        return contents

    def unpack(self, contents: np.ndarray) -> np.ndarray:
        """Return the vectors in the contents of the array, bits of the component's width, (slots, components)."""
        slots = contents[self.first :].reshape(self.slots, self.pitch)[:, : self.type.bytes]
        return np.ascontiguousarray(slots).view(self.type.component.bits_dtype)
